import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../runtime-js/errors.js';
import { takeNext } from '../../runtime-js/load/take_next.js';

const WRONG = Object.assign(new UnsupportedError('wrong-results', 'webgpu is wrong'), {
  faults: [{ kernel: 'sum', nodes: [], backend: 'webgpu', action: 'other-backend' }],
});

/** A model on webgpu whose bundle has wasm, too; `next` is the session there, or a function that fails. */
function modelOf(next, changes = {}) {
  const events = [];
  const info = { backend: 'webgpu', passedOver: [], adapter: 'A GPU', weightBytes: 8, memoryBytes: 1 };
  const own = { facts: { backend: 'webgpu', passedOver: [], adapter: 'A GPU' }, dispose: () => events.push('ended') };
  const model = {
    manifest: { inputs: [], outputs: [], weights: [] },
    parts: [{ backend: 'webgpu' }, { backend: 'wasm', kernels: 3, products: { float32: 1 } }],
    info,
    life: new AbortController().signal,
    start: undefined,
    startFirst: async (parts) => {
      events.push(`starts ${parts.map(({ backend }) => backend)}`);
      return next();
    },
    notify: ({ phase }) => events.push(phase),
    put(session) {
      model.session = session;
    },
    follow: (session) => session,
    ...changes,
  };
  return { model, own, info, events };
}

const onWasm = (more = {}) => ({
  facts: { backend: 'wasm', variant: 'plain', memoryBytes: 2 },
  run: ([x]) => [x],
  profile: () => [],
  dispose() {},
  ...more,
});

const callOf = (name, inputs, ...more) => ({ name, inputs, more: [[], ...more] });

test('a call that failed is made on the next backend, once the calls under way have failed', async () => {
  const { model, own, info, events } = modelOf(onWasm);
  let fail;
  const under = new Set([
    new Promise((_, reject) => {
      fail = reject;
    }),
  ]);
  const again = takeNext(model, own, under, WRONG, callOf('run', [Float32Array.of(5)]));
  await new Promise(setImmediate);
  const waiting = model.session.run([Float32Array.of(6)], []);
  assert.deepEqual(events, []);
  fail(WRONG);
  assert.deepEqual(await again, [Float32Array.of(5)]);
  assert.deepEqual(new Float32Array((await waiting)[0].buffer), Float32Array.of(6));
  assert.deepEqual(events, ['ended', 'starts wasm', 'ready']);
  assert.deepEqual(info, {
    backend: 'wasm',
    variant: 'plain',
    passedOver: [{ backend: 'webgpu', reason: 'webgpu is wrong' }],
    weightBytes: 8,
    memoryBytes: 2,
    kernels: 3,
    products: { float32: 1 },
  });
  // One that failed late is made there, too, and nothing is given up twice.
  assert.deepEqual(await takeNext(model, own, new Set(), WRONG, callOf('run', [1])), [1]);
  assert.equal(events.length, 3);
});

test('what the next backend cannot do rejects with the fault', async () => {
  const { model, own } = modelOf(onWasm);
  const buffer = { [Symbol.toStringTag]: 'GPUBuffer' };
  globalThis.GPUBuffer = class {
    get size() {
      return 4;
    }
  };
  const onDevice = Object.create(globalThis.GPUBuffer.prototype, Object.getOwnPropertyDescriptors(buffer));
  for (const call of [callOf('run', [onDevice]), callOf('run', [], { output: 'gpu-buffer' })])
    await assert.rejects(takeNext(model, own, new Set(), WRONG, call), WRONG);
  assert.equal(model.info.backend, 'wasm'); // runs that follow find it
  delete globalThis.GPUBuffer;
});

test('where it does not load the next run tries again', async () => {
  let fails = true;
  const { model, own, info, events } = modelOf(() => {
    if (fails) throw new Error('offline');
    return onWasm();
  });
  await assert.rejects(takeNext(model, own, new Set(), WRONG, callOf('run', [1])), { message: 'offline' });
  assert.equal(info.backend, 'webgpu');
  fails = false;
  assert.deepEqual(await model.session.run([2], []), [2]);
  assert.deepEqual(events, ['ended', 'starts wasm', 'starts wasm', 'ready']);
});

test('without another backend the fault stays', async () => {
  const { model, own, events } = modelOf(onWasm, { parts: [{ backend: 'webgpu' }] });
  await assert.rejects(takeNext(model, own, new Set(), WRONG, callOf('run', [1])), WRONG);
  assert.equal(model.session, undefined);
  assert.deepEqual(events, []);
});

test('a model that is disposed of meanwhile leaves nothing', async () => {
  const life = new AbortController();
  let ended = 0;
  const { model, own } = modelOf(() => onWasm({ dispose: () => ended++ }), { life: life.signal });
  const again = takeNext(model, own, new Set(), WRONG, callOf('run', [1]));
  life.abort(new Error('disposed'));
  await assert.rejects(again, { message: 'disposed' });
  assert.equal(ended, 1);
});

test('states are those of the new backend, by the numbers that the page has', async () => {
  const done = [];
  let made = 0;
  const next = onWasm({
    run: (_, scalars) => [scalars],
    keep: (_arrays, _scalars, action, session = 64 * ++made, from = undefined) => {
      done.push([action, session, from]);
      return [Float64Array.of(session, 100)];
    },
  });
  const { model, own } = modelOf(() => next);
  model.manifest.states = [{ name: 's' }];
  // A run is never made a second time.
  await assert.rejects(takeNext(model, own, new Set(), WRONG, callOf('run', [])), { code: 'state-lost' });
  await assert.rejects(model.session.run([], [3, 0]), { code: 'state-lost' });
  const { keep } = model.session;
  const numberOf = async (...given) => (await keep([], [], ...given))[0][0];
  assert.equal(await numberOf('write', 0), 0);
  await assert.rejects(model.session.run([], [3, 2]), { code: 'state-lost' });
  for (const action of ['read', 'move', 'undo'])
    await assert.rejects(async () => model.session.keep([], [], action, 2), { code: 'state-lost' });
  await assert.rejects(async () => model.session.keep([], [], 'copy', undefined, 2), { code: 'state-lost' });
  assert.equal(await numberOf('drop', 2), 2); // nothing was there
  assert.equal(await numberOf('write', 2), 2);
  assert.deepEqual(await model.session.run([], [3, 2]), [[3, 64]]);
  assert.deepEqual(await model.session.run([], [3, 0]), [[3, 0]]);
  const fresh = await numberOf('copy', undefined, 2);
  assert.ok(fresh < 0); // none that the backend before may have had
  assert.deepEqual(await model.session.run([], [3, fresh]), [[3, 128]]);
  await keep([], [], 'drop', fresh);
  await assert.rejects(model.session.run([], [3, fresh]), { code: 'state-lost' });
  const of = (action) => done.filter(([one]) => one === action).map(([, ...more]) => more);
  assert.deepEqual(of('write'), [
    [0, undefined],
    [64, undefined],
  ]);
  assert.deepEqual(of('copy'), [[128, 64]]);
  assert.deepEqual(of('drop'), [[128, undefined]]);
});
