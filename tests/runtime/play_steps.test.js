import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepping } from '../../runtime-js/device/play_steps.js';

/**
 * What a program with these steps launches and waits for. Each launch appends its number and its scalars; `values` has the
 * words of values of the device each time that they are read.
 */
async function play(steps, { inputs = [], scalars = [], values = {}, launches = [[], [0]] } = {}) {
  const log = [];
  const device = {
    segment: (carryOut, reads) => async (download) => {
      carryOut((number, own) => log.push([number, ...own]));
      if (download) log.push(`read ${reads}`);
      return reads.map((value) => Int32Array.of(values[value].shift()));
    },
  };
  const program = {
    launches: launches.map((own) => ({ scalars: own })),
    calls: [],
    values: [],
    inputs: [],
    outputs: [],
    steps,
  };
  const built = { program, plan: { outputs: [] }, device, host: {}, give() {}, ...stepping.prepare(device, program) };
  await stepping.carryOut(built, inputs, scalars, true);
  return log;
}

/** As the program's JSON has it. */
const branch = (place, yes, no) => Object.fromEntries(Object.entries({ if: place, else: no }).concat([['then', yes]]));

test('a loop whose trips are known waits for nothing', async () => {
  const steps = [0, { counter: 0, trips: ['+', [1], 1], body: [1] }, 0];
  assert.deepEqual(await play(steps, { scalars: [undefined, 2] }), [[0], [1, 0], [1, 1], [1, 2], [0]]);
  assert.deepEqual(await play(steps, { scalars: [undefined, -1] }), [[0], [0]]);
});

test('a condition on the device is read before each iteration', async () => {
  const steps = [{ counter: 0, trips: 5, until: { value: 3 }, body: [1] }];
  const log = await play(steps, { values: { 3: [1, 1, 0] } });
  assert.deepEqual(log, ['read 3', [1, 0], 'read 3', [1, 1], 'read 3']);
});

test('a branch by an input waits for nothing, one by a value once', async () => {
  const steps = (place) => [0, branch(place, [1], [0])];
  for (const [holds, last] of [
    [1, [1, 7]],
    [0, [0]],
  ]) {
    const given = { scalars: [7], inputs: [Uint8Array.of(holds)], values: { 2: [holds] } };
    assert.deepEqual(await play(steps({ input: 0 }), given), [[0], last]);
    assert.deepEqual(await play(steps({ value: 2 }), given), [[0], 'read 2', last]);
  }
});

test('a scalar that is read holds from then on', async () => {
  const steps = [{ scalar: 0, value: 4 }, 1, { scalar: 0, value: 4 }, 1];
  assert.deepEqual(await play(steps, { values: { 4: [5, 6] } }), ['read 4', [1, 5], 'read 4', [1, 6]]);
});

test('loops nest, and each iteration takes a branch of its own', async () => {
  const inner = { counter: 1, trips: [0], body: [1] };
  const steps = [{ counter: 0, trips: 3, body: [branch({ value: 2 }, [inner], [0])] }];
  const log = await play(steps, { values: { 2: [1, 0, 1] }, launches: [[], [0, 1]] });
  assert.deepEqual(log, ['read 2', 'read 2', [0], 'read 2', [1, 2, 0], [1, 2, 1]]);
});

test('a condition that stays on the device cannot be decided here', async () => {
  const steps = [branch({ input: 0 }, [0], [])];
  await assert.rejects(play(steps, { inputs: [{}] }), {
    name: 'TypeError',
    message: 'an input that decides which steps run must be an array',
  });
});
