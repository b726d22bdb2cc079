import assert from 'node:assert/strict';
import { test } from 'node:test';
import { carryOut, profile } from '../../runtime-js/device/carry_out.js';
import * as optional from '../../runtime-js/device/optional_device.js';
import { prepareSegments } from '../../runtime-js/device/play_steps.js';

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
    segment: (reads) => async (launched) => {
      for (const { number, scalars } of launched) log.push([number, ...scalars]);
      if (reads.length) log.push(`read ${reads}`);
      return reads.map((value) => Int32Array.of(values[value].shift()));
    },
  };
  const program = {
    launches: launches.map((own) => ({ scalars: own })),
    calls: [],
    values: [],
    inputs: [],
    outputs: [],
    steps: ranges(steps),
  };
  const built = {
    program,
    plan: { inputs: dtypes.map((dtype, i) => ({ name: `x${i}`, dtype })), outputs: [] },
    device,
    flush: prepareSegments(device, program),
  };
  await carryOut(built, inputs, scalars, true);
  return log;
}

/** Steps as the program's JSON has them, launches by their numbers alone. */
const ranges = (steps) =>
  steps.map((step) => {
    if (typeof step === 'number') return [step, step + 1];
    if (Array.isArray(step)) return step;
    if (step.body) return { ...step, body: ranges(step.body) };
    return step.if ? branch(step.if, ranges(step.then), ranges(step.else)) : step;
  });
/** As the program's JSON has it. */
const branch = (place, yes, no) => Object.fromEntries(Object.entries({ if: place, else: no }).concat([['then', yes]]));

test('launches that wait for nothing are handed over at once, in the order of the steps', async () => {
  const steps = [2, [0, 2]];
  assert.deepEqual(await play(steps, { launches: [[], [], []] }), [[2], [0], [1]]);
});

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

test('a branch by sizes waits for nothing', async () => {
  const steps = [branch({ sizes: ['!=', [0], 1] }, [1], [0])];
  assert.deepEqual(await play(steps, { scalars: [7] }), [[1, 7]]);
  assert.deepEqual(await play(steps, { scalars: [1] }), [[0]]);
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

/**
 * A program of two launches, one of them in a loop behind a branch, a call of the host that reads value 1 and writes value 2,
 * and outputs of 2 x n elements in memory for 2 x 5.
 */
function withHost(log) {
  const shape = [2, { text: 'n', most: 5, value: [0] }];
  const kernel = { flops: 6, bytes: 8 };
  const program = {
    kernels: [kernel],
    launches: ['add', 'scale'].map((name) => ({ kernel: 0, name, nodes: ['a'], ops: ['Add'], scalars: [0] })),
    calls: [
      {
        ...{ name: 'sort', nodes: ['b'], ops: ['TopK'] },
        reads: [{ value: 1, offset: 16 }],
        writes: [{ value: 2, offset: 20 }],
      },
    ],
    storages: [{ dtype: 'int32' }, { dtype: 'float32' }],
    values: [
      { storage: 1, dtype: 'float32', length: 10 },
      { storage: 0, dtype: 'bool', length: 3 },
      { storage: 1, dtype: 'float32', length: 1 },
    ],
    host: { scalars: [[0, 8]], inputs: [], outputs: [-1, 32] },
    inputs: [],
    outputs: [0, -1],
    steps: [
      [0, 1],
      { call: 0 },
      { scalar: 1, offset: 12 },
      branch({ offset: 4 }, [{ counter: 2, trips: 2, body: [[1, 2]] }], []),
    ],
  };
  const memory = Float32Array.from({ length: 10 }, (_, i) => i);
  const device = {
    segment: (reads) => async (launched, lengths) => {
      for (const { number, scalars } of launched) log.push(['launch', number, ...scalars]);
      if (reads[0]) log.push(['read', ...reads]);
      return reads.map((value) => (value ? Int32Array.of(1, 0, 1) : memory.slice(0, lengths?.[0])));
    },
    write: (value, data) => log.push(['write', value, ...data]),
    time: async (order) => ({ ms: order.map(() => 6), clock: 'wall' }),
    copyOut: (value, runs) => ({ value, runs }),
  };
  const module = {
    write: (offset, array) => log.push(['host write', offset, array.constructor.name, ...array]),
    run: (segment) => log.push(['segment', segment]),
    read: (offset, dtype, length) => {
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
    host: optional.host.attach(module, device, program),
    flush: prepareSegments(device, program),
  };
}

test('the host computes in between, and outputs are as long as the run is', async () => {
  const log = [];
  const outputs = await carryOut(withHost(log), [], [3], true);
  assert.deepEqual(log, [
    ['launch', 0, 3],
    ['read', 1],
    ['host write', 16, 'Uint8Array', 1, 0, 1],
    ['host write', 8, 'Int32Array', 3],
    ['segment', 0],
    ['write', 2, 100],
    ['launch', 1, 3],
    ['launch', 1, 3],
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
  const [output] = await carryOut(built, [], [2], false);
  const runs = [
    { dense: 0, spaced: 0, length: 2 },
    { dense: 2, spaced: 5, length: 2 },
  ];
  assert.deepEqual(output, { value: 0, runs, shape: [2, 2] });
});

test('a profile has, in the order of the steps, the mean time of each launch and how often it ran', async () => {
  const [add, call, scale, ...others] = await profile(withHost([]), [], [3], 3);
  const common = { nodes: ['a'], ops: ['Add'], clock: 'wall', flops: 6, bytes: 8 };
  assert.deepEqual(add, { ...common, name: 'add', ms: 2, count: 1 });
  assert.deepEqual([call?.name, call?.count], ['sort', 1]);
  assert.deepEqual(scale, { ...common, name: 'scale', ms: 4, count: 2 });
  assert.deepEqual(others, []);
});

test('a run after one that failed launches nothing of that', async () => {
  const log = [];
  const built = withHost(log);
  const { flush } = built;
  const failing = async () => {
    throw new Error('lost');
  };
  await assert.rejects(carryOut({ ...built, flush: failing }, [], [9], true), { message: 'lost' });
  await carryOut({ ...built, flush }, [], [1], true);
  assert.deepEqual(log[0], ['launch', 0, 1]);
});
