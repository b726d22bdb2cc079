import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RunError, UnsupportedError } from '../../runtime-js/errors.js';
import { newest } from '../../runtime-js/load/newest.js';
import { states } from '../../runtime-js/load/sessions.js';
import { sizes } from '../../runtime-js/values/bind_sizes.js';

const text = (name, value, most) => ({ text: name, most, value });
const ROWS = text('rows', [0], 3);
const PAST = text('past', [1], 8);
const GROWING = { name: 'past', least: 0, most: 8, multiple: 1, after: text('past + rows', ['+', [1], [0]], 11) };
const growing = {
  inputs: [{ name: 'x', dtype: 'float32', shape: [ROWS, 2] }],
  outputs: [{ name: 'y', dtype: 'float32', shape: [2] }],
  dimensions: [{ name: 'rows', least: 1, most: 3, multiple: 1 }, GROWING],
  states: [{ name: 'p', dtype: 'float32', shape: [PAST, 2], room: [11, 2] }],
};
const fixed = {
  inputs: [{ name: 'x', dtype: 'float32', shape: [2] }],
  outputs: growing.outputs,
  states: [{ name: 'h', dtype: 'float32', shape: [2], room: [2], overwritten: true }],
};

/** Sessions over a backend that lists what it is asked for, and whose runs the test ends where `held`. */
function setUp(manifest, { held = false, dimensions } = {}) {
  const life = new AbortController();
  const calls = [];
  const ends = [];
  let made = 0;
  const backend = {
    run(_, scalars) {
      calls.push(['run', ...scalars]);
      if (!held) return [Float32Array.of(1, 2)];
      return new Promise((resolve, reject) => ends.push({ done: () => resolve([Float32Array.of(1, 2)]), reject }));
    },
    keep(_, scalars, action, session, from) {
      calls.push([action, session, ...(from === undefined ? [] : [from])]);
      if (action === 'read') {
        const [spec] = manifest.states;
        return [Object.assign(new Float32Array(2), { shape: spec.shape, scalars })];
      }
      return [Float64Array.of(session ?? ++made, 1000 + made)];
    },
  };
  const info = { backend: 'wasm', worker: true, memoryBytes: 1000 };
  const own = { ...manifest, dimensions: dimensions ?? manifest.dimensions };
  const sessions = states.open({
    manifest: own,
    ...{ use: () => backend, life: life.signal, info, sizes, newest }, // as in the compile page, whose models may need it
    runIn:
      ({ begin }) =>
      (values, { signal } = {}) =>
        begin(values, (inputs, scalars) => backend.run(inputs, scalars), signal),
  });
  const model = { run: sessions.first.session.run, dimensions: own.dimensions ?? [] };
  sessions.extend(model);
  const x = (rows) => ({ x: { data: new Float32Array(2 * rows), shape: [rows, 2] } });
  return { model, sessions, calls, ends, life, info, x, h: { x: new Float32Array(2) } };
}

const turn = () => new Promise((resolve) => setTimeout(resolve));

test('a run is told how long the states are, and which session it is of', async () => {
  const { model, calls, x } = setUp(growing);
  await model.run(x(2));
  await model.run(x(3));
  const other = await model.session();
  await other.run(x(1));
  await model.run(x(1));
  assert.deepEqual(calls, [
    ['run', 2, 0, 0],
    ['run', 3, 2, 0],
    ['write', undefined],
    ['run', 1, 0, 1],
    ['run', 1, 5, 0],
  ]);
  assert.deepEqual([model.position, other.position], [6, 1]);
  assert.equal(model.dimensions[1].after, 'past + rows');
});

test('runs of a session wait for those before, with the arrays of the call, and those of others do not', async () => {
  const { model, calls, ends, x } = setUp(growing, { held: true });
  const other = await model.session();
  const given = x(2);
  const first = model.run(x(1));
  const second = model.run(given);
  given.x.data.fill(7);
  const apart = other.run(x(3));
  assert.deepEqual(calls.slice(1), [
    ['run', 1, 0, 0],
    ['run', 3, 0, 1],
  ]);
  ends[0].done();
  await first;
  await turn();
  assert.deepEqual(calls.at(-1), ['run', 2, 1, 0]);
  for (const { done } of ends) done();
  await Promise.all([second, apart]);
  assert.deepEqual([model.position, other.position], [3, 3]);
});

test('where a run is waited for, the calls behind it are in order', async () => {
  const { model, calls, ends, x } = setUp(growing, { held: true });
  const results = [model.run(x(3)), model.rewind(1), model.saveState(), model.reset(), model.fork()];
  await turn();
  assert.equal(calls.length, 1);
  ends[0].done();
  await Promise.all(results);
  assert.deepEqual(calls.slice(1), [
    ['read', 0],
    ['write', 0],
    ['copy', undefined, 0],
  ]);
  assert.deepEqual((await results[2]).p.scalars, [1, 2]);
  assert.equal(model.position, 0);
});

test('what is beyond the room is refused before anything is computed', async () => {
  const { model, calls, x } = setUp(growing);
  for (let i = 0; i < 3; i++) await model.run(x(3));
  const before = calls.length;
  await assert.rejects(model.run(x(1)), {
    name: 'StateFullError',
    code: 'state-full',
    message: /past is 9, and the model was compiled for at most 8; .* a larger --dim past=0\.\.N/,
  });
  assert.deepEqual([model.position, calls.length], [9, before]);
  await model.rewind(1);
  await model.run(x(3));
  assert.equal(model.position, 11);
});

test('a run does not leave more rows than there are positions', async () => {
  const { model, calls, x } = setUp(growing, { dimensions: [growing.dimensions[0], { ...GROWING, limit: 4 }] });
  await model.run(x(3));
  await assert.rejects(model.run(x(2)), { name: 'StateFullError', message: /would become 5, and the model has 4/ });
  await model.run(x(1));
  assert.deepEqual([model.position, calls.length], [4, 2]);
});

test('a run that is aborted before it begins changes nothing, and one that is under way counts', async () => {
  const { model, calls, ends, x } = setUp(growing, { held: true });
  const [early, late] = [new AbortController(), new AbortController()];
  const first = model.run(x(1), { signal: late.signal });
  const second = model.run(x(2), { signal: early.signal });
  early.abort();
  await assert.rejects(second, { name: 'AbortError' });
  late.abort();
  await assert.rejects(first, { name: 'AbortError' });
  assert.equal(model.position, 1);
  const third = model.run(x(3));
  ends[0].done();
  await turn();
  assert.deepEqual(calls, [
    ['run', 1, 0, 0],
    ['run', 3, 1, 0],
  ]);
  ends[1].done();
  await third;
  assert.equal(model.position, 4);
});

test('a run that fails does not count, and leaves states that grow as they were', async () => {
  const { model, ends, x } = setUp(growing, { held: true });
  const failing = model.run(x(2));
  assert.equal(model.position, 2);
  ends[0].reject(new RunError('refused', 'no'));
  await assert.rejects(failing, { code: 'refused' });
  assert.equal(model.position, 0);
  const next = model.run(x(2));
  await turn();
  ends[1].done();
  await next;
  assert.equal(model.position, 2);
});

test('after a run that fails states of fixed size are lost until they are made anew', async () => {
  const { model, ends, h } = setUp(fixed, { held: true });
  const lost = { name: 'StateLostError', code: 'state-lost', message: /reset\(\) or loadState\(\) first/ };
  for (const mend of [() => model.reset(), () => model.loadState({ h: new Float32Array(2) })]) {
    const failing = model.run(h);
    await turn();
    ends.pop().reject(new RunError('trap', 'no'));
    await assert.rejects(failing, { code: 'trap' });
    for (const task of [() => model.run(h), () => model.saveState(), () => model.fork()])
      await assert.rejects(task, lost);
    await mend();
    const next = model.run(h);
    await turn();
    ends.pop().done();
    await next;
    assert.equal(model.position, 1);
    await model.reset();
  }
  const refused = model.run(h);
  await turn();
  ends.pop().reject(new UnsupportedError('output', 'nothing was computed'));
  await assert.rejects(refused, { code: 'output' });
  await model.saveState();
});

test('states that are lost with the device are so until they are made anew', async () => {
  const { model, calls, ends, x } = setUp(growing, { held: true });
  const first = model.run(x(1));
  ends[0].done();
  await first;
  const failing = model.run(x(1));
  await turn();
  ends[1].reject(new RunError('state-lost', 'the GPU was lost'));
  await assert.rejects(failing, { name: 'StateLostError', message: 'the GPU was lost' });
  await assert.rejects(model.run(x(1)), { name: 'StateLostError' });
  await assert.rejects(model.rewind(0), { name: 'StateLostError' });
  await assert.rejects(model.fork(), { name: 'StateLostError' });
  assert.deepEqual([model.position, calls.length], [1, 2]);
  await model.reset();
  const next = model.run(x(1));
  await turn();
  ends[2].done();
  await next;
});

test('a first run loses nothing with the device: it is done once more, with the arrays of the call', async () => {
  const { model, calls, ends, x } = setUp(growing, { held: true });
  const given = x(2);
  const first = model.run(given);
  given.x.data.fill(9);
  ends[0].reject(new RunError('state-lost', 'the GPU was lost'));
  await turn();
  ends[1].done();
  await first;
  assert.deepEqual(calls, [
    ['run', 2, 0, 0],
    ['write', 0],
    ['run', 2, 0, 0],
  ]);
  assert.equal(model.position, 2);
  await model.loadState({ p: new Float32Array(4) });
  const next = model.run(x(1));
  await turn();
  ends[2].reject(new RunError('state-lost', 'the GPU was lost'));
  await assert.rejects(next, { name: 'StateLostError' });
});

test('wrong inputs change nothing', async () => {
  const { model, calls, x } = setUp(growing);
  await model.run(x(1));
  await assert.rejects(model.run({}), { name: 'TypeError', message: /input "x" is missing/ });
  await assert.rejects(model.run(x(4)), { name: 'RangeError' });
  await assert.rejects(model.run(null), { name: 'TypeError' });
  await assert.rejects(model.loadState({ p: new Float32Array(3) }), { name: 'RangeError' });
  await assert.rejects(model.loadState({}), { name: 'TypeError', message: /input "p" is missing/ });
  await assert.rejects(model.loadState(undefined), { name: 'TypeError', message: /what saveState gave/ });
  for (const rows of [2, -1, 0.5, Number.NaN, '1', undefined])
    await assert.rejects(model.rewind(rows), { name: 'RangeError', message: /the states have 1 rows \(past\)/ });
  assert.deepEqual([model.position, calls.length], [1, 1]);
});

test('a state that is full is loaded, and one that there is no room for is not', async () => {
  const { model, x, calls } = setUp(growing);
  await model.loadState({ p: new Float32Array(22) });
  assert.equal(model.position, 11);
  await assert.rejects(model.run(x(1)), { name: 'StateFullError' });
  const more = model.loadState({ p: new Float32Array(24) });
  await assert.rejects(more, { name: 'RangeError', message: 'loadState: "p" has room for [11, 2]' });
  await model.rewind(3);
  await model.run(x(1));
  assert.deepEqual(calls.at(-1), ['run', 1, 8, 0]);
});

test('states that were saved have their lengths in their shapes, or by the number of elements', async () => {
  const { model, x, calls } = setUp(growing);
  await model.loadState({ p: Object.assign(new Float32Array(8), { shape: [4, 2] }) });
  assert.equal(model.position, 4);
  await model.loadState({ p: new Float32Array(6) });
  assert.equal(model.position, 3);
  await model.run(x(1));
  assert.deepEqual(calls.at(-1), ['run', 1, 3, 0]);
});

test('without rows a position counts runs, and nothing can be rewound', async () => {
  const { model, h } = setUp(fixed);
  for (let i = 0; i < 3; i++) await model.run(h);
  assert.equal(model.position, 3);
  await assert.rejects(model.rewind(1), {
    name: 'UnsupportedError',
    code: 'rewind',
    message: /a run does not just add rows to the end of h; saveState/,
  });
  const fork = await model.fork();
  assert.equal(fork.position, 3);
});

test('sessions are disposed of, each by itself or all with the model', async () => {
  const { model, calls, ends, life, info, x } = setUp(growing, { held: true });
  const [one, two] = [await model.session(), await model.fork()];
  assert.equal(info.memoryBytes, 1002);
  const running = one.run(x(1));
  const waiting = one.run(x(1));
  await one.dispose();
  await one.dispose();
  for (const run of [running, waiting, one.run(x(1)), one.reset()])
    await assert.rejects(run, { code: 'disposed', message: 'the session was disposed of' });
  assert.deepEqual(
    calls.filter(([action]) => action === 'drop'),
    [['drop', 1]],
  );
  ends[0].done();
  await turn();
  assert.equal(calls.filter(([action]) => action === 'run').length, 1);
  life.abort(new RunError('disposed', 'the model was disposed of'));
  const gone = { code: 'disposed', message: 'the model was disposed of' };
  for (const task of [() => two.run(x(1)), () => model.run(x(1)), () => model.session(), () => model.reset()])
    await assert.rejects(task, gone);
  await two.dispose();
});

test('a copy that a session was disposed of before it was there is dropped', async () => {
  const { model, calls } = setUp(growing);
  const one = await model.session();
  const forked = one.fork();
  await Promise.all([assert.rejects(forked, { code: 'disposed' }), one.dispose()]);
  await turn();
  assert.deepEqual(calls.slice(1), [
    ['copy', undefined, 1],
    ['drop', 1],
    ['drop', 2],
  ]);
});

test('a profile is of a copy, which is dropped', async () => {
  const { model, sessions, calls, x } = setUp(growing);
  await model.run(x(2));
  const times = await sessions.onCopy(({ begin }) => begin(x(1), () => ['times']));
  assert.deepEqual(times, ['times']);
  assert.equal(model.position, 2);
  assert.deepEqual(calls.slice(1), [
    ['copy', undefined, 0],
    ['drop', 1],
  ]);
});
