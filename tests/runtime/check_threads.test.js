import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkThreads, operandsOf } from '../../runtime-js/wasm/check_threads.js';
import { OPERANDS_AT, STACK_BYTES } from '../../runtime-js/wasm/stacks.js';

const THREADS = 3;
const STACKS = 65536;
const VECTORS = 256;
const memory = new SharedArrayBuffer(STACKS + THREADS * STACK_BYTES);

/** The module's loop in place, over some of its iterations. */
const loop = (address, begin, end) => {
  const elements = new Float32Array(memory, address, 4 * VECTORS);
  for (let i = 4 * begin; i < 4 * end; i++) elements[i] = elements[i] ** 2 + elements[i];
};

const whole = (address) => loop(address, 0, VECTORS);

/** Checks threads that each do one thing by themselves, and another one together. */
const check = (t, alone, together) => {
  t.mock.method(console, 'warn', () => {});
  const report = { checked: 6, skipped: 0, failed: [] };
  const rooms = operandsOf(memory, STACKS, THREADS);
  for (const [i, { byteOffset }] of rooms.entries()) alone(byteOffset, i);
  assert.equal(rooms[2].byteOffset, STACKS + 3 * STACK_BYTES - OPERANDS_AT);
  const right = checkThreads(report, rooms, together);
  assert.deepEqual([report.checked, console.warn.mock.callCount()], [7, right ? 0 : 1]);
  const fault = { kernel: 'threads', nodes: [], backend: 'wasm', action: 'one-thread' };
  assert.deepEqual(report.failed, right ? [] : [fault]);
  return right;
};

test('threads that compute what one does', (t) => {
  assert.ok(check(t, whole, whole));
});

for (const [fault, alone, together] of [
  ['one computes nothing', (address, i) => i === 1 || whole(address), whole],
  ['one leaves out an iteration', (address, i) => loop(address, 0, VECTORS - (i === 2)), whole],
  ['one chunk is done by none', whole, (address) => loop(address, 8, VECTORS)],
  ['one chunk is done twice', whole, (address) => [whole(address), loop(address, 100, 101)]],
  [
    'one fails',
    whole,
    () => {
      throw new Error('one of its threads failed');
    },
  ],
]) {
  test(`${fault}: threads are not used`, (t) => assert.ok(!check(t, alone, together)));
}

test('a module without the loop says nothing', () => {
  const report = { checked: 6, skipped: 0, failed: [] };
  assert.ok(checkThreads(report, operandsOf(memory, STACKS, 1), undefined));
  assert.equal(report.checked, 6);
});
