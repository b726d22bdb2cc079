import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guard } from '../../runtime-js/verify/verify_runs.js';

const parts = (...names) => names.map((backend) => ({ backend }));
const manifest = {
  inputs: [{ name: 'x', dtype: 'float32', shape: [2] }],
  outputs: [
    { name: 'y', dtype: 'float32', shape: [2] },
    { name: 'n', dtype: 'int32', shape: [1] },
  ],
  tolerance: 1e-3,
  backends: parts('webgpu', 'wasm'),
};

/** A guard over a model on wasm that computes by `compute`: { begin, info, loaded, disposed }. */
async function guarded(compute, verify, own = manifest) {
  const life = new AbortController();
  const state = { info: { backend: 'webgpu', adapter: 'A GPU' }, life, loaded: [], disposed: 0, runs: 0 };
  const load = async (plain, options) => {
    state.loaded.push([plain, options]);
    return {
      run: async ({ x }) => {
        state.runs++;
        return compute(x);
      },
      dispose: async () => state.disposed++,
    };
  };
  const session = { dispose: () => state.disposed++ };
  state.begin = await guard(own, { verify, threads: 2, cache: true })(load, state.info, session, life.signal);
  return state;
}

const twice = (x) => ({ y: Array.from(x, (v) => 2 * v), n: Int32Array.of(7) });
const arrays = (results) => ({ y: Float32Array.from(results.y), n: results.n });
const exact = (x) => arrays(twice(x));
const x = Float32Array.of(1, -4);
const right = [Float32Array.of(2, -8), Int32Array.of(7)];
const wrong = [Float32Array.of(2, -8.1), Int32Array.of(7)];

test('the first run and each that is asked for are compared', async () => {
  const { begin, info, loaded } = await guarded(exact, { every: 3 });
  const compared = [];
  for (let i = 0; i < 7; i++) {
    const compare = begin({ x }, 'array');
    compared.push(compare !== undefined);
    await compare?.(right);
  }
  assert.deepEqual(compared, [true, false, false, true, false, false, true]);
  assert.deepEqual(info.verified, { every: 3, runs: 3, largest: 0 });
  assert.equal((await guarded(exact, 'sample')).info.verified.every, 100);
  const given = Object.entries(loaded[0][1]).filter(([, value]) => value !== undefined);
  assert.deepEqual(Object.fromEntries(given), { threads: 2, cache: true, backend: 'wasm' });
});

test('a wrong result names output, difference and adapter, and the next run is compared, too', async () => {
  const { begin, info } = await guarded(exact, 'sample');
  const error = await begin({ x }, 'array')(wrong).catch((one) => one);
  assert.equal(error.name, 'RunError');
  assert.equal(error.code, 'wrong-results');
  assert.match(
    error.message,
    /^output "y" is wrong on webgpu \(A GPU\): .* by 0\.013 of the largest value, and 0\.0010 is/,
  );
  await begin({ x }, 'array')(right);
  assert.equal(begin({ x }, 'array'), undefined);
  assert.equal(info.verified.runs, 2);
});

test('integers are exact', async () => {
  const { begin } = await guarded(exact, 'sample');
  await assert.rejects(begin({ x }, 'array')([right[0], Int32Array.of(8)]), { code: 'wrong-results' });
});

test('what the last digits of inputs change is allowed four times', async () => {
  // A difference of nearly equal numbers, far from which rounding moves the result.
  const apart = (values) => arrays({ y: [1e5 * (values[0] - 1), 0], n: Int32Array.of(0) });
  const far = Float32Array.of(1.01, 0);
  const moved = (more) => [Float32Array.of(1e5 * (far[0] - 1) + more, 0), Int32Array.of(0)];
  const sensitive = { ...manifest, tolerance: 1e-7 };
  await (await guarded(apart, 'sample', sensitive)).begin({ x: far }, 'array')(moved(0.03));
  await assert.rejects((await guarded(apart, 'sample', sensitive)).begin({ x: far }, 'array')(moved(0.3)));
});

test('a run that the device alone can do leaves its turn to the next', async () => {
  const { begin } = await guarded(exact, { every: 10 });
  globalThis.GPUBuffer = class {
    get [Symbol.toStringTag]() {
      return 'GPUBuffer';
    }
    get size() {
      return 8;
    }
  };
  const buffer = new GPUBuffer();
  assert.equal(begin({ x: buffer }, 'array'), undefined);
  assert.equal(begin({ x: { data: buffer, shape: [2] } }, 'array'), undefined);
  assert.equal(begin({ x }, 'gpu-buffer'), undefined);
  assert.notEqual(begin({ x }, 'array'), undefined);
  assert.equal(begin({ x }, 'array'), undefined);
});

test('a run that fails leaves its turn to the next', async () => {
  const failing = (x) => {
    if (Number.isNaN(x[0])) throw new RangeError('no number');
    return exact(x);
  };
  const { begin, info } = await guarded(failing, 'sample');
  begin({ x: Float32Array.of(Number.NaN, 0) }, 'array');
  await new Promise((resolve) => setTimeout(resolve));
  await begin({ x }, 'array')(right);
  assert.equal(info.verified.runs, 1);
});

test('a bundle without GPUs has no outputs to search', async () => {
  const make = guard({ ...manifest, backends: parts('wasm') }, { verify: 'non-finite' });
  assert.equal(await make(assert.fail, { backend: 'wasm' }, {}, new AbortController().signal), undefined);
});

test('wasm compares with nothing, and its model ends with the other', async () => {
  const life = new AbortController();
  const make = guard(manifest, { verify: 'sample' });
  assert.equal(await make(assert.fail, { backend: 'wasm' }, {}, life.signal), undefined);
  const state = await guarded(exact, 'sample');
  state.life.abort();
  assert.equal(state.disposed, 1);
});

test('an abort ends a run that is compared, and the next one has its turn', async () => {
  for (const end of ['signal', 'life']) {
    let answer = () => {};
    const answered = () =>
      new Promise((resolve) => {
        answer = () => resolve(exact(x));
      });
    const { begin, info, life } = await guarded(answered, { every: 100 });
    const own = new AbortController();
    const aborter = end === 'life' ? life : own;
    const comparing = begin({ x }, 'array', own.signal)(wrong);
    aborter.abort(new Error('enough'));
    await assert.rejects(comparing, /enough/);
    answer();
    await new Promise((resolve) => setTimeout(resolve));
    assert.deepEqual([info.verified.runs, info.verified.largest], [0, 0]);
    const next = begin({ x }, 'array', own.signal);
    answer();
    await assert.rejects(next(right), /enough/); // aborted while the GPU computed
    assert.notEqual(begin({ x }, 'array'), undefined);
  }
});

test('where wasm does not load, the other model ends', async () => {
  let disposed = 0;
  const session = { dispose: () => disposed++ };
  const load = () => Promise.reject(new Error('no memory'));
  const loading = guard(manifest, { verify: 'sample' })(
    load,
    { backend: 'webgl' },
    session,
    new AbortController().signal,
  );
  await assert.rejects(loading, /no memory/);
  assert.equal(disposed, 1);
});

test('without inputs it is the run that says so', async () => {
  const { begin } = await guarded(exact, 'sample');
  for (const nothing of [undefined, null]) assert.doesNotThrow(() => begin(nothing, 'array'));
});

test('what cannot be compared is refused, and says why', () => {
  const refused = (own, verify) => () => guard({ ...manifest, ...own }, { verify });
  assert.throws(refused({ backends: parts('webgpu', 'webgl') }, 'sample'), {
    code: 'backend',
    message: /has: webgpu, webgl;/,
  });
  assert.throws(refused({ states: [{}] }, 'sample'), { code: 'verify', message: /depend on states/ });
  assert.throws(refused({}, true), {
    name: 'TypeError',
    message: /expected false, 'non-finite', 'sample' or \{ every: runs \}, got true/,
  });
  assert.throws(refused({}, null), { name: 'TypeError', message: /every: runs \}, got null/ });
  for (const every of [0, 1.5, '3']) assert.throws(refused({}, { every }), { name: 'RangeError' });
});
