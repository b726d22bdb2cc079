import assert from 'node:assert/strict';
import { test } from 'node:test';
import { followModel } from '../../rpc/device_page/follow_model.js';

/** @param {AbortSignal} [signal] */
function follow(signal) {
  /** @type {Record<string, { give: () => void, refuse: () => void, signal: AbortSignal }>} */
  const loads = {};
  /** @type {string[]} */
  const seen = [];
  /**
   * @param {string} name
   * @param {AbortSignal} own
   */
  const load = (name, own) =>
    new Promise((resolve, reject) => {
      const model = /** @type {any} */ ({ name, dispose: async () => seen.push(`${name} disposed`) });
      loads[name] = { give: () => resolve(model), refuse: () => reject(new Error(`no ${name}`)), signal: own };
    });
  const followed = followModel(load, {
    onChange: (/** @type {any} */ model) => seen.push(model.name),
    onError: (error) => seen.push(error.message),
    end: () => seen.push('end'),
    signal,
  });
  const first = followed.first.then(
    (/** @type {any} */ model) => model.name,
    (error) => `rejected: ${error.message}`,
  );
  return { ...followed, first, loads, seen };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test('a model that is sent again, unchanged, is no change', async () => {
  const { take, first, loads, seen } = follow();
  take('a');
  loads.a?.give();
  assert.equal(await first, 'a');
  const once = loads.a;
  take('a');
  await settled();
  assert.equal(loads.a, once);
  take('b');
  loads.b?.refuse();
  await settled();
  take('a');
  await settled();
  assert.deepEqual(seen, ['no b']);
});

test('the first model, and each later one', async () => {
  const { take, fail, first, loads, seen } = follow();
  take('a');
  loads.a?.give();
  assert.equal(await first, 'a');
  take('b');
  loads.b?.give();
  await settled();
  fail(new Error('c does not compile'));
  take('d');
  loads.d?.refuse();
  await settled();
  assert.deepEqual(seen, ['b', 'c does not compile', 'no d']);
});

test('an older model that is loaded last is not the newest', async () => {
  const { take, first, loads, seen } = follow();
  take('a');
  take('b');
  assert.ok(loads.a?.signal.aborted);
  loads.b?.give();
  assert.equal(await first, 'b');
  loads.a?.give();
  await settled();
  assert.deepEqual(seen, ['a disposed']);
  take('c');
  take('d');
  loads.c?.refuse();
  loads.d?.give();
  await settled();
  assert.deepEqual(seen, ['a disposed', 'd']);
});

test('a first model that fails ends the connection', async () => {
  const { take, first, loads, seen } = follow();
  take('a');
  loads.a?.refuse();
  assert.equal(await first, 'rejected: no a');
  take('b');
  assert.equal(loads.b, undefined);
  assert.deepEqual(seen, ['end']);
});

test('a signal ends the connection, before the first model and after it', async () => {
  const before = new AbortController();
  const early = follow(before.signal);
  early.take('a');
  before.abort(new Error('enough'));
  assert.equal(await early.first, 'rejected: enough');
  assert.ok(early.loads.a?.signal.aborted);
  early.loads.a?.give();
  await settled();
  assert.deepEqual(early.seen, ['end', 'a disposed']);

  const after = new AbortController();
  const late = follow(after.signal);
  late.take('a');
  late.loads.a?.give();
  assert.equal(await late.first, 'a');
  after.abort();
  late.take('b');
  await settled();
  assert.deepEqual(late.seen, ['end']);

  const never = follow(AbortSignal.abort(new Error('from the start')));
  assert.equal(await never.first, 'rejected: from the start');
});
