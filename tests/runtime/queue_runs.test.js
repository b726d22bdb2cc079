import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { queueRuns } from '../../runtime-js/load/queue_runs.js';

/** A queue, and a session whose runs the test ends. */
function setUp() {
  const life = new AbortController();
  const enqueue = queueRuns(life.signal);
  const started = [];
  const ends = new Map();
  const run = (value, signal = undefined) => {
    const input = Float32Array.of(value);
    const start = ([given]) =>
      new Promise((resolve, reject) => {
        const [name] = new Float32Array(given.buffer);
        started.push(name);
        ends.set(name, { resolve, reject });
      });
    const result = enqueue([input], start, signal);
    input.fill(-1);
    result.catch(() => {});
    return result;
  };
  return { life, enqueue, started, ends, run };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

test('without signals all runs are handed over at once', () => {
  const { started, run } = setUp();
  for (const value of [1, 2, 3]) run(value);
  assert.equal(started.length, 3);
});

test('a run that can be aborted waits for those before it, and all behind wait for it, with the inputs of the call', async () => {
  const { started, ends, run } = setUp();
  const { signal } = new AbortController();
  const results = [run(1, signal), run(2, signal), run(3)];
  assert.equal(started.length, 1);
  ends.get(started[0]).resolve(['a']);
  await turn();
  assert.deepEqual(started.slice(1), [2]);
  ends.get(2).reject(new Error('b'));
  await turn();
  assert.deepEqual(started.slice(1), [2, 3]);
  ends.get(3).resolve(['c']);
  const values = await Promise.allSettled(results);
  assert.deepEqual(
    values.map(({ value, reason }) => value?.[0] ?? reason.message),
    ['a', 'b', 'c'],
  );
});

test('aborted before it begins, a run never does, and those behind it do', async () => {
  const { started, ends, run } = setUp();
  const controller = new AbortController();
  run(1);
  const second = run(2, controller.signal);
  const third = run(3);
  controller.abort(new Error('enough'));
  await assert.rejects(second, { message: 'enough' });
  ends.get(started[0]).resolve([]);
  await turn();
  assert.deepEqual(started.slice(1), [3]);
  ends.get(3).resolve(['c']);
  assert.deepEqual(await third, ['c']);
});

test('aborted under way, a run rejects at once, its buffers are destroyed, and the next waits for its end', async () => {
  const { started, ends, run } = setUp();
  const controller = new AbortController();
  const first = run(1, controller.signal);
  controller.abort();
  await assert.rejects(first, { name: 'AbortError' });
  const second = run(2, new AbortController().signal);
  await turn();
  assert.equal(started.length, 1);
  let destroyed = 0;
  ends.get(started[0]).resolve([{ destroy: () => destroyed++ }]);
  await turn();
  assert.deepEqual([started.length, destroyed], [2, 1]);
  ends.get(2).resolve(['b']);
  assert.deepEqual(await second, ['b']);
});

test('aborted beforehand, a run has no effect', async () => {
  const { started, run } = setUp();
  await assert.rejects(run(1, AbortSignal.abort('over')), (reason) => reason === 'over');
  assert.deepEqual(started, []);
});

test('the end of the model rejects runs that wait and that are under way', async () => {
  const { life, run, ends, started } = setUp();
  const { signal } = new AbortController();
  const results = [run(1), run(2, signal), run(3)];
  life.abort(new Error('disposed'));
  for (const result of results) await assert.rejects(result, { message: 'disposed' });
  await assert.rejects(run(4), { message: 'disposed' });
  ends.get(started[0]).resolve([]);
  await turn();
  assert.equal(started.length, 1);
});

test('so it does where a run is over at the call', async () => {
  const { life, enqueue } = setUp();
  const result = enqueue([], () => ['a'], undefined);
  life.abort(new Error('disposed'));
  await assert.rejects(result, { message: 'disposed' });
});

test('signals are let go of', async () => {
  const { life, ends, run, started } = setUp();
  const { signal } = new AbortController();
  const results = [run(1, signal), run(2, signal)];
  ends.get(started[0]).resolve([]);
  await turn();
  ends.get(2).reject(new Error('x'));
  await Promise.allSettled(results);
  for (const one of [signal, life.signal]) assert.equal(getEventListeners(one, 'abort').length, 0);
});
