import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareInOrder } from '../../runtime-js/device/prepare_in_order.js';

/** Launches 0 and 1 read constants 0 and 1, launch 2 what 1 computes (5) and constant 2; launch 3 is of a run. */
const program = {
  constants: [{ value: 0 }, { value: 1 }, { value: 2 }, { value: 3 }],
  launches: [{ arguments: [0, 4] }, { arguments: [1, 5] }, { arguments: [5, 2, 6] }, { arguments: [3, 7] }],
  prepare: [[0, 3]],
};

function follow() {
  const log = [];
  const carryOut = async (launches) => {
    log.push(launches.map(({ number }) => number));
  };
  return { log, carryOut, ...prepareInOrder(program) };
}

test('a launch follows its constants, once shaders are compiled', async () => {
  const { log, carryOut, onConstant, onCompiled, done } = follow();
  onConstant(0);
  assert.deepEqual(log, []);
  onCompiled(carryOut);
  assert.deepEqual(log, [[0]]);
  onConstant(3); // of a run alone
  onConstant(2); // launch 2 waits for launch 1
  assert.deepEqual(log, [[0]]);
  onConstant(1);
  assert.deepEqual(log, [[0], [1, 2]]);
  await done();
});

test('where shaders come last, all launches are carried out together', async () => {
  const { log, carryOut, onConstant, onCompiled, done } = follow();
  for (const value of [3, 2, 1, 0]) onConstant(value);
  onCompiled(carryOut);
  assert.deepEqual(log, [[0, 1, 2]]);
  await done();
});

test('what a launch fails with is thrown in the end', async () => {
  const { onConstant, onCompiled, done } = follow();
  onCompiled(async () => {
    throw new Error('lost');
  });
  onConstant(0);
  await assert.rejects(done, { message: 'lost' });
});
