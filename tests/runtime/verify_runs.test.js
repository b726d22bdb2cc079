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

/** The model on wasm that was loaded last. */
let references;

/** A guard over a model on wasm that computes by `compute`: { compare, info, loaded, disposed }; `compare` takes the input and the
 * results of a run, and gives what came of it: undefined where it was not compared. */
async function guarded(compute, verify, own = manifest, more = {}) {
  const life = new AbortController();
  const state = { info: { backend: 'webgpu', adapter: 'A GPU' }, life, loaded: [], disposed: 0, runs: 0 };
  const load = async (plain, options) => {
    state.loaded.push([plain, options]);
    references = {
      run: async ({ x }) => {
        state.runs++;
        return compute(x.data ?? x);
      },
      dispose: async () => state.disposed++,
    };
    return references;
  };
  const session = { dispose: () => state.disposed++, ...more };
  const compared = { manifest: own, options: { verify, threads: 2, cache: true }, load };
  const { info } = state;
  const compare = await guard(own, compared.options)({ ...compared, info, life: life.signal, use: () => session });
  state.step = compare;
  state.isNear = compare?.isNear;
  state.compare = async (x, results, output = 'array') => {
    const before = state.runs;
    const got = await compare({ data: [x], scalars: [0, 3], output }, async (data) => {
      state.given = data;
      return results;
    });
    return state.runs > before && got;
  };
  return state;
}

const twice = (x) => ({ y: Array.from(x, (v) => 2 * v), n: Int32Array.of(7) });
const arrays = (results) => ({ y: Float32Array.from(results.y), n: results.n });
const exact = (x) => arrays(twice(x));
const x = Float32Array.of(1, -4);
const right = [Float32Array.of(2, -8), Int32Array.of(7)];
const wrong = [Float32Array.of(2, -8.1), Int32Array.of(7)];

test('the first run and each that is asked for are compared', async () => {
  const { compare, info, loaded } = await guarded(exact, { every: 3 });
  const compared = [];
  for (let i = 0; i < 7; i++) compared.push((await compare(x, right)) === right);
  assert.deepEqual(compared, [true, false, false, true, false, false, true]);
  assert.deepEqual(info.verified, { every: 3, runs: 3, largest: 0 });
  assert.equal((await guarded(exact, 'sample')).info.verified.every, 100);
  const given = Object.entries(loaded[0][1]).filter(([, value]) => value !== undefined);
  assert.deepEqual(Object.fromEntries(given), { threads: 2, cache: true, backend: 'wasm' });
});

test('a wrong result names output, difference and adapter, and the next run is compared, too', async () => {
  const { compare, info } = await guarded(exact, 'sample');
  const error = await compare(x, wrong).catch((one) => one);
  assert.equal(error.name, 'RunError');
  assert.equal(error.code, 'wrong-results');
  assert.match(
    error.message,
    /^output "y" is wrong on webgpu \(A GPU\): .* by 0\.013 of the largest value, and 0\.0010 is/,
  );
  assert.equal(await compare(x, right), right);
  assert.equal(await compare(x, right), false);
  assert.equal(info.verified.runs, 2);
});

test('integers are exact', async () => {
  const { compare } = await guarded(exact, 'sample');
  await assert.rejects(compare(x, [right[0], Int32Array.of(8)]), { code: 'wrong-results' });
});

test('what the last digits of inputs change is allowed four times', async () => {
  // A difference of nearly equal numbers, far from which rounding moves the result.
  const apart = (values) => arrays({ y: [1e5 * (values[0] - 1), 0], n: Int32Array.of(0) });
  const far = Float32Array.of(1.01, 0);
  const moved = (more) => [Float32Array.of(1e5 * (far[0] - 1) + more, 0), Int32Array.of(0)];
  const sensitive = { ...manifest, tolerance: 1e-7 };
  await (await guarded(apart, 'sample', sensitive)).compare(far, moved(0.03));
  await assert.rejects((await guarded(apart, 'sample', sensitive)).compare(far, moved(0.3)));
});

test('where a rounding moves a step, means are allowed to be twice as far apart', async () => {
  // Steps of 1 / 8, which inputs that are moved by 2**-10 take somewhere, whatever they are.
  const count = 400;
  const steps = (values) => arrays({ y: values.map((v) => Math.round(8 * v) / 8), n: Int32Array.of(0) });
  const input = Float32Array.from({ length: count }, (_, i) => (i % 9 ? 0.3 : 2.5 / 8));
  const moved = steps(input.map((v, i) => v + (i & 1 ? -v : v) / 1024));
  const others = moved.y.filter((v, i) => v !== steps(input).y[i]).length;
  assert.ok(others > 20);
  const wrongAt = (places) => {
    const y = steps(input).y;
    for (let i = 0; i < places; i++) y[i] += 1 / 8;
    return [y, Int32Array.of(0)];
  };
  const coarse = { ...manifest, tolerance: 2e-2 };
  await (await guarded(steps, 'sample', coarse)).compare(input, wrongAt(3 * others));
  await assert.rejects((await guarded(steps, 'sample', coarse)).compare(input, wrongAt(5 * others)));
  const few = wrongAt(0);
  few[0][7] += 1; // eight steps: of the mean it is as much as 64 of one
  await assert.rejects((await guarded(steps, 'sample', coarse)).compare(input, few));
  const one = wrongAt(0);
  one[0][7] = Number.NaN;
  await assert.rejects((await guarded(steps, 'sample', coarse)).compare(input, one));
});

test('a run with inputs that the device alone has leaves its turn to the next', async () => {
  const { compare } = await guarded(exact, { every: 10 });
  globalThis.GPUBuffer = class {
    get [Symbol.toStringTag]() {
      return 'GPUBuffer';
    }
    get size() {
      return 8;
    }
  };
  const turns = [];
  for (const one of [new GPUBuffer(), x, x]) turns.push(Boolean(await compare(one, right)));
  assert.deepEqual(turns, [false, true, false]);
});

test('outputs that stay on the device are those of the same run once more', async () => {
  let again = right;
  const run = async (data, scalars) => {
    assert.deepEqual([data, scalars], [[x], [0, 3]]);
    return again;
  };
  let destroyed = 0;
  const buffers = [1, 2].map(() => ({ destroy: () => destroyed++ }));
  const { compare, info } = await guarded(exact, { every: 1 }, manifest, { run });
  assert.equal(await compare(x, buffers, 'gpu-buffer'), buffers);
  assert.deepEqual([info.verified.runs, destroyed], [1, 0]);
  again = wrong;
  await assert.rejects(compare(x, buffers, 'gpu-buffer'), { code: 'wrong-results' });
  assert.equal(destroyed, 2);
});

test('inputs that change once a run has begun are compared as they were', async () => {
  const state = await guarded(exact, { every: 1 });
  const own = Float32Array.from(x);
  const comparing = state.compare(own, right);
  own.fill(0);
  assert.equal(await comparing, right);
  assert.deepEqual(state.given, [x]);
});

test('a run with states is compared on those that it finds', async () => {
  const h = Object.assign(Float32Array.of(3), { shape: [1] });
  const stateful = { ...manifest, states: [{ name: 'h', dtype: 'float32', shape: [1], room: [1] }] };
  const calls = [];
  const keep = async (_, scalars, action, number) => {
    calls.push([action, scalars, number]);
    return [h];
  };
  const loaded = [];
  const { compare, info } = await guarded(exact, { every: 1 }, stateful, { keep });
  assert.equal(info.verified.every, 1);
  references.session = async () => ({
    loadState: async (saved) => loaded.push(saved.h.data[0]),
    run: references.run,
    dispose: async () => {},
  });
  assert.equal(await compare(x, right), right);
  await assert.rejects(compare(x, wrong), { code: 'wrong-results' });
  assert.deepEqual(
    calls,
    [1, 2].map(() => ['read', [0], 3]),
  );
  assert.deepEqual(loaded, [3, 3, Math.fround(3 + 3 * 2 ** -23)]); // the last is of a run with other digits
});

const sampling = (role, dtype, length) => ({ name: role, dtype, shape: length ? [length] : [], sampling: role });
const decoder = {
  ...manifest,
  backends: [
    { backend: 'webgpu' },
    { backend: 'wasm', modules: { relaxed: { file: 'r' }, signed: { file: 's', program: {} } } },
  ],
  inputs: [
    { name: 'x', dtype: 'float32', shape: [1] },
    ...[sampling('options', 'float32', 4), sampling('counts', 'int32', 3)],
    ...['draws', 'byCount', 'byMass'].map((role) => sampling(role, 'bool', 0)),
  ],
  outputs: [
    { name: 'token', dtype: 'int32', shape: [1] },
    { name: 'logprob', dtype: 'float32', shape: [1] },
  ],
  dimensions: [{ name: 'rows', least: 0, most: 9, multiple: 1, after: { value: ['+', [0], 1] } }],
  states: [
    { name: 'h', dtype: 'float32', shape: [{ value: [0] }], room: [9] },
    { name: 'sampling.seen', dtype: 'uint8', shape: [4], room: [4] },
  ],
  generate: { ids: 'x', logits: { name: 'logits', dtype: 'float32', shape: [4], offset: 0 } },
};
const LOGITS = [1, 3, 2.999, -5];

/** Steps of a decoder on a GPU whose token and states are these: what comes of each, and of which states it was repeated. */
async function steps(verify, each) {
  const calls = [];
  let left;
  const shaped = (values) => Object.assign(Float32Array.from(values), { shape: [values.length] });
  const seen = Object.assign(Uint8Array.of(0, 1, 0, 0), { shape: [4] });
  const keep = async (_, [rows], action, number) => {
    calls.push([action, rows, number]);
    return [rows > 2 ? shaped(left) : shaped([1, 2]), seen];
  };
  const state = await guarded(exact, verify, decoder, { keep });
  const [plain] = state.loaded[0];
  references.generate = () => {};
  references.session = async () => ({
    loadState: async (saved) => assert.deepEqual(Array.from(saved.h.data, Math.round), [1, 2]),
    run: async () => ({ token: Int32Array.of(1), logprob: Float32Array.of(0), logits: Float32Array.from(LOGITS) }),
    saveState: async () => ({ h: shaped([1, 2, 3]), 'sampling.seen': seen }),
    dispose: async () => {},
  });
  const data = [x, Float32Array.of(0, 1, 0, 1), Int32Array.of(0, 0, 2), ...[0, 0, 0].map((bit) => Uint8Array.of(bit))];
  const found = [];
  for (const { token, logprob, states = [1, 2, 3], ahead } of each) {
    left = states;
    const near = state.isNear();
    const results = [Int32Array.of(token), Float32Array.of(logprob)];
    const running = state.step({ data, scalars: [2, 3], ahead }, async () => results);
    found.push([near, await running.then(() => 'right').catch(({ message }) => message.split(' is wrong')[0])]);
  }
  return { found, calls, plain, verified: state.info.verified };
}
const mass = Math.log(LOGITS.reduce((sum, logit) => sum + Math.exp(logit), 0));
const one = { token: 1, logprob: 3 - mass };

test('a step is compared by the logits of wasm, and by the states that it leaves', async () => {
  const tie = { token: 2, logprob: 2.999 - mass };
  const wrong = [
    { ...one, token: 0 },
    { token: 0, logprob: 1 - mass },
    { ...one, logprob: 2.9 - mass },
    { ...one, states: [1, 2, 3.1] },
  ];
  const { found, calls, plain, verified } = await steps({ every: 1 }, [one, tie, ...wrong]);
  const outcomes = ['right', 'right', 'output "token"', 'output "token"', 'output "logprob"', 'state "h"'];
  assert.deepEqual(
    found,
    outcomes.map((outcome) => [true, outcome]),
  );
  assert.deepEqual(calls.slice(0, 2), [
    ['read', 2, 3],
    ['read', 3, 3],
  ]);
  assert.deepEqual(
    plain.outputs.map(({ name }) => name),
    ['token', 'logprob', 'logits'],
  );
  // A module with a program of its own has the logits elsewhere.
  assert.deepEqual(plain.backends[1].modules, { relaxed: { file: 'r' } });
  assert.equal(verified.runs, 6);
});

test('nothing is launched ahead of a step that is compared, nor behind it; one that was leaves its turn to the next', async () => {
  const { found, verified } = await steps({ every: 4 }, new Array(10).fill(one));
  const near = found.map(([is]) => is);
  assert.deepEqual(near, [true, false, false, true, true, false, false, true, true, false]);
  assert.equal(verified.runs, 3);
  const late = await steps({ every: 4 }, [{ ...one, ahead: true }, one, one]);
  assert.deepEqual(
    late.found.map(([is]) => is),
    [true, true, false],
  );
  assert.equal(late.verified.runs, 1);
});

test('a run that fails leaves its turn to the next', async () => {
  const failing = (x) => {
    if (Number.isNaN(x[0])) throw new RangeError('no number');
    return exact(x);
  };
  const { compare, info } = await guarded(failing, 'sample');
  await assert.rejects(compare(Float32Array.of(Number.NaN, 0), right), /no number/);
  await compare(x, right);
  assert.equal(info.verified.runs, 1);
});

test('a bundle without GPUs has no outputs to search', async () => {
  const make = guard({ ...manifest, backends: parts('wasm') }, { verify: 'non-finite' });
  assert.equal(await make({ info: { backend: 'wasm' } }), undefined);
});

test('wasm compares with nothing, and its model ends with the other', async () => {
  const make = guard(manifest, { verify: 'sample' });
  assert.equal(await make({ load: assert.fail, info: { backend: 'wasm' } }), undefined);
  const state = await guarded(exact, 'sample');
  state.life.abort();
  assert.equal(state.disposed, 1);
});

test('where wasm does not load, the other model ends', async () => {
  let disposed = 0;
  const session = { dispose: () => disposed++ };
  const load = () => Promise.reject(new Error('no memory'));
  const options = { verify: 'sample' };
  const { signal: life } = new AbortController();
  const info = { backend: 'webgl' };
  const loading = guard(manifest, options)({ manifest, options, info, life, load, use: () => session });
  await assert.rejects(loading, /no memory/);
  assert.equal(disposed, 1);
});

test('what cannot be compared is refused, and says why', () => {
  const refused = (own, verify) => () => guard({ ...manifest, ...own }, { verify });
  assert.throws(refused({ backends: parts('webgpu', 'webgl') }, 'sample'), {
    code: 'backend',
    message: /has: webgpu, webgl;/,
  });
  assert.throws(refused({}, true), {
    name: 'TypeError',
    message: /expected false, 'non-finite', 'sample' or \{ every: runs \}, got true/,
  });
  assert.throws(refused({}, null), { name: 'TypeError', message: /every: runs \}, got null/ });
  for (const every of [0, 1.5, '3']) assert.throws(refused({}, { every }), { name: 'RangeError' });
});
