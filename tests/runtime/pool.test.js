import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { afterOthers, createControl, parallelFor } from '../../runtime-js/wasm/pool.js';
import { FAULTY, makeChunk } from './pool_thread.js';

const most = 300;
const counts = new Int32Array(new SharedArrayBuffer(4 * (most + 1)));
const control = createControl();
/** @type {Worker[]} */
let workers;

before(async () => {
  const url = new URL('./pool_thread.js', import.meta.url);
  workers = [0, 1].map(() => new Worker(url, { workerData: { control, counts } }));
  await Promise.all(workers.map((worker) => new Promise((resolve) => worker.once('message', resolve))));
});

after(() => Promise.all(workers.map((worker) => worker.terminate())));

test('every iteration is done once, and all of them when the loop returns', () => {
  const run = parallelFor(control, 3, makeChunk(counts));
  for (let i = 0; i < 20_000; i++) {
    const extent = 1 + ((i * 7919) % most);
    counts.fill(0);
    run(i, 2 * i, extent);
    const wrong = counts.findIndex((count, at) => count !== (at < extent ? 3 * i + 1 : 0));
    assert.equal(wrong, -1, `loop ${i} of ${extent} iterations: number ${wrong} is ${counts[wrong]}`);
  }
});

test('threads that sleep wake up', async () => {
  const run = parallelFor(control, 3, makeChunk(counts));
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    counts.fill(0);
    run(1, 1, most);
    assert.deepEqual(new Set(counts.subarray(0, most)), new Set([3]));
  }
});

test('loops are left to other threads, but for one chunk', () => {
  let own = 0;
  const runIn = (control) => {
    own = 0;
    counts.fill(0);
    const chunk = (...iterations) => {
      own++;
      makeChunk(counts)(...iterations);
    };
    parallelFor(control, 3, afterOthers(control, chunk))(1, 1, most);
    assert.deepEqual(new Set(counts.subarray(0, most)), new Set([3]));
  };
  // A busy machine may hold them up, or this thread until they have taken all.
  for (let i = 0; i < 20_000 && own !== 1; i++) runIn(control);
  assert.equal(own, 1);
  runIn(createControl()); // where none come
  assert.ok(own > 1);
});

test('threads that never come are not waited for', () => {
  for (const threads of [2, 8, 31, 32, 100]) {
    for (const extent of [1, 2, 63, most]) {
      counts.fill(0);
      parallelFor(createControl(), threads, makeChunk(counts))(1, 1, extent);
      assert.deepEqual(new Set(counts.subarray(0, extent)), new Set([3]));
      assert.equal(counts[extent], 0);
    }
  }
});

test('a thread that fails makes the loop fail', () => {
  counts.fill(0);
  const run = parallelFor(control, 3, (body, args, begin, end) => {
    while (Atomics.load(counts, most) === 0); // until another thread has taken a chunk, and failed
    makeChunk(counts)(body, args, begin, end);
  });
  assert.throws(() => run(FAULTY, 0, most), /one of its threads failed/);
});
