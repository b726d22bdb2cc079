import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stepping } from '../../runtime-js/device/play_steps.js';

/**
 * The launches and waits of a program with these steps. Each launch appends its number and its scalars; `values` has
 * the words of values of the device each time that they are read.
 */
async function play(
  steps,
  { inputs = [], dtypes = inputs.map(() => 'bool'), scalars = [], values = {}, launches = [[], [0]] } = {},
) {
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
  const built = {
    program,
    plan: { inputs: dtypes.map((dtype, i) => ({ name: `x${i}`, dtype })), outputs: [] },
    device,
    host: {},
    give() {},
    ...stepping.prepare(device, program),
  };
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

test('an element of an input is read by its type, aligned or not', async () => {
  const steps = [{ scalar: 0, input: 1 }, 1];
  const first = Uint8Array.of(1);
  for (const [dtype, given, expected] of [
    ['int32', Int32Array.of(70000), 70000],
    ['int64', BigInt64Array.of(-300n), -300],
    ['uint16', new Uint16Array(Uint16Array.of(7, 513, 9).buffer, 2, 1), 513],
    ['int32', new Uint8Array(Uint8Array.of(0, 0, 1, 0, 0).buffer, 1, 4), 256],
    ['bool', Uint8Array.of(1), 1],
  ]) {
    const log = await play(steps, { inputs: [first, given], dtypes: ['bool', dtype] });
    assert.deepEqual(log, [[1, expected]], dtype);
  }
  const holds = [branch({ input: 0 }, [0], [])];
  assert.deepEqual(await play(holds, { inputs: [Int32Array.of(256)], dtypes: ['int32'] }), [[0]]);
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
    message: 'input "x0" decides which steps run: give a typed array',
  });
});

/** A program of one launch, a call of the host that reads value 1, and outputs of 2 x n elements in memory for 2 x 5. */
function withHost(log) {
  const shape = [2, { text: 'n', most: 5, value: [0] }];
  const kernel = { flops: 6, bytes: 8 };
  const program = {
    kernels: [kernel],
    launches: [{ kernel: 0, name: 'add', nodes: ['a'], ops: ['Add'], scalars: [0] }],
    calls: [{ name: 'sort', nodes: ['b'], ops: ['TopK'], reads: [{ value: 1, offset: 16 }], writes: [] }],
    storages: [{ dtype: 'int32' }, { dtype: 'float32' }],
    values: [
      { storage: 1, dtype: 'float32', length: 10 },
      { storage: 0, dtype: 'bool', length: 3 },
    ],
    host: { scalars: [[0, 8]], inputs: [], outputs: [-1, 32] },
    inputs: [],
    outputs: [0, -1],
    prepared: 0,
    steps: [0, { call: 0 }, { scalar: 1, offset: 12 }, branch({ offset: 4 }, [0], [])],
  };
  const memory = Float32Array.from({ length: 10 }, (_, i) => i);
  const device = {
    segment: (carryOut, reads) => async (download, lengths) => {
      carryOut((number, own) => log.push(['launch', number, ...own]));
      if (download && reads[0]) log.push(['read', ...reads]);
      return download ? reads.map((value) => (value ? Int32Array.of(1, 0, 1) : memory.slice(0, lengths?.[0]))) : [];
    },
    time: async (order) => ({ ms: order.map(() => 6), clock: 'wall' }),
    take: (value, runs) => ({ value, runs }),
  };
  const host = {
    put: (offset, array) => log.push(['put', offset, array.constructor.name, ...array]),
    play: (entry) => log.push([entry]),
    take: (offset, dtype, length) => {
      if (dtype === 'bool') return Uint8Array.of(offset === 4 ? 1 : 0);
      const bytes = dtype === 'int32' ? Int32Array.of(offset) : Float32Array.from({ length }, (_, i) => 100 + i);
      return new Uint8Array(bytes.buffer);
    },
  };
  const plan = { outputs: [0, 1].map((i) => ({ name: `y${i}`, dtype: 'float32', shape })) };
  return {
    program,
    plan,
    device,
    host,
    give: (call) => log.push(['give', call]),
    ...stepping.prepare(device, program),
  };
}

test('the host computes in between, and outputs are as long as the run is', async () => {
  const log = [];
  const outputs = await stepping.carryOut(withHost(log), [], [3], true);
  assert.deepEqual(log, [
    ['launch', 0, 3],
    ['read', 1],
    ['put', 16, 'Uint8Array', 1, 0, 1],
    ['put', 8, 'Int32Array', 3],
    ['segment_0'],
    ['give', 0],
    ['launch', 0, 3],
  ]);
  const found = outputs.map((output) => [[...output], output.shape]);
  assert.deepEqual(found, [
    [
      [0, 1, 2, 5, 6, 7],
      [2, 3],
    ],
    [
      [100, 101, 102, 105, 106, 107],
      [2, 3],
    ],
  ]);
});

test('outputs that stay on the device are taken as they lie there', async () => {
  const built = withHost([]);
  built.program.outputs = [0, 0];
  const [output] = await stepping.carryOut(built, [], [2], false);
  const runs = [
    { dense: 0, spaced: 0, length: 2 },
    { dense: 2, spaced: 5, length: 2 },
  ];
  assert.deepEqual(output, { value: 0, runs, shape: [2, 2] });
});

test('a profile has the mean time of each launch and how often it ran', async () => {
  const times = await stepping.profile(withHost([]), [], [3], 3);
  const [launch, call] = times;
  const [name, nodes, ops] = ['add', ['a'], ['Add']];
  assert.deepEqual(launch, { name, nodes, ops, ms: 4, clock: 'wall', count: 2, flops: 6, bytes: 8 });
  assert.deepEqual([times.length, call?.name, call?.count], [2, 'sort', 1]);
});

test('a run after one that failed launches nothing of that', async () => {
  const log = [];
  const built = withHost(log);
  built.pending.push({ number: 0, scalars: [9] });
  await stepping.carryOut(built, [], [1], true);
  assert.deepEqual(log[0], ['launch', 0, 1]);
});
