import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasNonFinite } from '../../runtime-js/values/into.js';
import { judge } from '../../runtime-js/verify/verify_runs.js';

const manifest = {
  inputs: [{ name: 'x', dtype: 'float32', shape: [3] }],
  outputs: [
    { name: 'n', dtype: 'int32', shape: [1] },
    { name: 'y', dtype: 'float32', shape: [3] },
  ],
  backends: [{ backend: 'webgpu' }, { backend: 'wasm' }],
};

const turn = (x) => ({ data: [x], scalars: [] });

/** Double of a model that computes by `onGpu` here and by `onWasm` there: { watch, loads, warnings, life }. */
function watched(t, { onGpu, onWasm = (x) => x.map((v) => 2 * v), own = manifest, failing = undefined }) {
  const warnings = t.mock.method(console, 'warn', () => {}).mock;
  const life = new AbortController();
  const state = { loads: [], warnings, life, repeated: 0, disposed: 0 };
  const load = async (plain, options) => {
    state.loads.push([plain, options]);
    if (failing) throw failing;
    return {
      run: async ({ x }) => ({ n: Int32Array.of(1), y: await onWasm(x.data ?? x) }),
      dispose: async () => state.disposed++,
    };
  };
  const run = async ([x]) => {
    state.repeated++;
    return [Int32Array.of(1), onGpu(x)];
  };
  const info = { backend: 'webgpu', adapter: 'A GPU', precision: 'f32' };
  state.watch = {
    on: true,
    manifest: own,
    options: { threads: 2 },
    info,
    life: life.signal,
    load,
    use: () => ({ run }),
  };
  state.judge = (x, held) => judge(state.watch, turn(x), [Int32Array.of(1), onGpu(x)], held && [held]);
  return state;
}

const x = Float32Array.of(1, -4, 3);
const overflown = (x) => x.map((v) => (v > 2 ? Number.POSITIVE_INFINITY : 2 * v));
const logarithm = (x) => x.map(Math.log);

test('elements that are no finite numbers are found, at every place and of every float', () => {
  const arrays = { float32: Float32Array, float64: Float64Array };
  for (const [dtype, Elements] of Object.entries(arrays))
    for (const length of [1, 3, 1001])
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])
        for (const place of new Set([0, length >> 1, length - 1])) {
          const array = new Elements(length).fill(-1.5);
          array[0] = -0;
          assert.equal(hasNonFinite({ dtype }, array), false);
          array[place] = wrong;
          assert.equal(hasNonFinite({ dtype }, array), true);
        }
  const largest = [3.4028234663852886e38, 1.401298464324817e-45];
  assert.equal(hasNonFinite({ dtype: 'float32' }, Float32Array.from(largest)), false);
  for (const bits of [0x7c00, 0xfc00, 0x7e01, 0xfdff])
    assert.equal(hasNonFinite({ dtype: 'float16' }, Uint16Array.of(0, bits)), true);
  assert.equal(hasNonFinite({ dtype: 'float16' }, Uint16Array.of(0x7bff, 0xfbff, 0x8000, 1)), false);
  assert.equal(hasNonFinite({ dtype: 'uint16' }, Uint16Array.of(0x7c00)), false);
  assert.equal(hasNonFinite({ dtype: 'int64' }, BigInt64Array.of(1n)), false);
  for (const none of [undefined, {}]) assert.equal(hasNonFinite({ dtype: 'float32' }, none), false);
});

test('where wasm has numbers the run rejects, and so does the next one', async (t) => {
  const state = watched(t, { onGpu: overflown });
  for (const runs of [1, 2]) {
    const error = await state.judge(x).catch((one) => one);
    assert.deepEqual([error.name, error.code], ['RunError', 'wrong-results']);
    assert.equal(
      error.message,
      'output "y" is wrong on webgpu (A GPU): 1 of 3 elements are not finite, and on wasm they are; ' +
        "load with { backend: 'wasm' }",
    );
    assert.equal(state.repeated, runs);
  }
  assert.equal(state.loads.length, 1);
  const [plain, options] = state.loads[0];
  assert.equal(plain.answers, undefined);
  assert.deepEqual([options.backend, options.threads, options.signal], ['wasm', 2, state.life.signal]);
  state.watch.info.precision = 'f16';
  await assert.rejects(state.judge(x), { message: /'wasm' \}, or compile without --precision f16: float16 ends at/ });
  state.life.abort();
  assert.equal(state.disposed, 1);
});

test('what the model itself gives is returned, and ends the search', async (t) => {
  const state = watched(t, { onGpu: logarithm, onWasm: logarithm });
  await state.judge(Float32Array.of(0, 1, -1));
  assert.equal(state.watch.on, false);
  assert.deepEqual(state.watch.info.verified, { every: 0, runs: 0, largest: 0, nonFinite: 'expected' });
  assert.equal(state.warnings.callCount(), 0);
});

test('an infinity that is a NaN on wasm is no number on both', async (t) => {
  const state = watched(t, { onGpu: overflown, onWasm: (x) => x.map((v) => (v > 2 ? Number.NaN : v)) });
  await state.judge(x);
  assert.equal(state.watch.info.verified.nonFinite, 'expected');
});

test('inputs that are not finite, or that a GPU alone has, are not looked into', async (t) => {
  const state = watched(t, { onGpu: (x) => x });
  await state.judge(Float32Array.of(1, Number.NaN, 2));
  globalThis.GPUBuffer = class {
    get [Symbol.toStringTag]() {
      return 'GPUBuffer';
    }
    get size() {
      return 8;
    }
  };
  await judge(state.watch, turn(new GPUBuffer()), [undefined, overflown(x)]);
  assert.deepEqual([state.loads.length, state.watch.on, state.watch.info.verified], [0, true, undefined]);
});

test('after a run that is finite the second time, inputs are copied before the next ones', async (t) => {
  const state = watched(t, { onGpu: overflown });
  const { use } = state.watch;
  const small = Float32Array.of(1, 1, 1);
  await judge(state.watch, turn(small), [undefined, overflown(x)]); // the caller has changed them meanwhile
  assert.equal(state.watch.on, true);
  const own = Float32Array.from(x);
  const held = state.watch.hold([own]);
  own.fill(Number.NaN);
  assert.deepEqual(held, [x]);
  state.watch.use = assert.fail;
  await assert.rejects(judge(state.watch, turn(own), [undefined, overflown(x)], held), { code: 'wrong-results' });
  state.watch.use = use;
  assert.equal(state.watch.hold([{ width: 1, height: 3 }]), undefined); // a bitmap
  await assert.rejects(state.judge(x, undefined), { code: 'wrong-results' });
});

test('inputs that were transferred are copied before the next run', async (t) => {
  const onWasm = (x) => {
    if (x.length !== 3) throw new RangeError('input "x": expected a Float32Array of length 3, got length 0');
    return x.map((v) => 2 * v);
  };
  const state = watched(t, { onGpu: overflown, onWasm });
  const sent = Float32Array.from(x);
  const results = [undefined, overflown(x)];
  structuredClone(sent, { transfer: [sent.buffer] });
  await judge(state.watch, turn(sent), results);
  assert.deepEqual([state.watch.on, state.warnings.callCount()], [true, 0]);
  const held = state.watch.hold([x]);
  await assert.rejects(judge(state.watch, turn(sent), results, held), { code: 'wrong-results' });
  await judge(state.watch, turn({ width: 1, height: 3 }), results); // nothing to copy: a reason to give up
  assert.deepEqual([state.watch.on, state.warnings.callCount()], [false, 1]);
});

test('a model that ends while a run is looked into gives no warning', async (t) => {
  const state = watched(t, {
    onGpu: overflown,
    onWasm: async () => {
      state.life.abort(new Error('disposed'));
      throw new Error('the model was disposed of');
    },
  });
  await state.judge(x); // the queue of runs rejects it
  await new Promise((resolve) => setTimeout(resolve));
  assert.deepEqual([state.watch.on, state.warnings.callCount()], [true, 0]);
});

test('what cannot be found out is a warning that names the output, once', async (t) => {
  const cases = [
    [{ own: { ...manifest, backends: [{ backend: 'webgpu' }] } }, /compile with wasm among the --targets/],
    [{ own: { ...manifest, states: [{ shape: [3] }] } }, /the run has changed the states that it found/],
    [{ failing: new Error('no network') }, /no network/],
    [{ onWasm: () => Promise.reject(new Error('no memory')) }, /no memory/],
  ];
  for (const [given, reason] of cases) {
    const state = watched(t, { onGpu: overflown, ...given });
    await Promise.all([state.judge(x), state.judge(x)]);
    assert.equal(state.warnings.callCount(), 1);
    const [message] = state.warnings.calls[0].arguments;
    assert.match(message, /^output "y" has elements that are not finite on webgpu \(A GPU\), and the inputs are; /);
    assert.match(message, reason);
    assert.deepEqual([state.watch.on, state.watch.info.verified.nonFinite], [false, 'unchecked']);
    t.mock.restoreAll();
  }
});

const rows = {
  name: 'past',
  least: 0,
  most: 8,
  multiple: 1,
  after: { text: 'past + 1', most: 9, value: ['+', [0], 1] },
};
const stateful = {
  ...manifest,
  dimensions: [rows],
  states: [
    { name: 'p', dtype: 'float32', shape: [{ text: 'past', most: 8, value: [0] }, 2], room: [9, 2] },
    { name: 'seen', dtype: 'uint8', shape: [4], room: [4], stays: true },
  ],
};

/** A model as above whose session 7 has two rows, of the first number of which x is a multiple: { ..., calls, sessions }. */
function withStates(t, { first = 2, ...given }) {
  const state = watched(t, { own: stateful, ...given });
  const p = Object.assign(Float32Array.of(first, 1, 1, 1), { shape: [2, 2] });
  const seen = Object.assign(new Uint8Array(4), { shape: [4] });
  state.calls = [];
  state.sessions = [];
  const { load } = state.watch;
  state.watch.load = async (...all) => ({
    ...(await load(...all)),
    async session() {
      const { run } = await load(...all);
      const session = {
        loadState: async (saved) => {
          session.saved = saved;
        },
        run,
        dispose: async () => state.sessions.push(session.saved),
      };
      return session;
    },
  });
  const { run } = state.watch.use();
  const keep = async (...all) => {
    state.calls.push(all);
    return all[2] === 'read' ? [p, seen] : [Float64Array.of(all[3] ?? 9, 1000)];
  };
  const session = {
    keep,
    run: async (data, scalars) => {
      state.calls.push(scalars);
      return run(data);
    },
  };
  state.watch.use = () => session;
  state.judge = (x) => judge(state.watch, { data: [x], scalars: [2, 7] }, [Int32Array.of(1), given.onGpu(x)]);
  return { ...state, p, seen };
}

test('a run with states is repeated on copies of the rows that it found, here and on wasm', async (t) => {
  const state = withStates(t, { onGpu: overflown });
  await assert.rejects(state.judge(x), { code: 'wrong-results' });
  const { p, seen } = state;
  assert.deepEqual(state.calls, [
    [[], [2], 'read', 7],
    [[p, seen], [2], 'write', undefined],
    [2, 9],
    [[], [], 'drop', 9],
  ]);
  assert.deepEqual(state.sessions, [{ p: { data: p, shape: [2, 2] }, seen: { data: seen, shape: [4] } }]);
  const same = withStates(t, { onGpu: logarithm, onWasm: logarithm });
  await same.judge(Float32Array.of(0, 1, 2));
  assert.equal(same.watch.info.verified.nonFinite, 'expected');
});

test('states that are not finite say nothing about a run', async (t) => {
  const state = withStates(t, { onGpu: overflown, first: Number.NaN });
  await state.judge(x);
  assert.deepEqual([state.watch.on, state.sessions.length, state.warnings.callCount()], [false, 0, 1]);
  assert.match(state.warnings.calls[0].arguments[0], /the states that the run found have such elements, too/);
});
