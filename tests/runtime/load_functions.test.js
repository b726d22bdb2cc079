import assert from 'node:assert/strict';
import { test } from 'node:test';
import { functionsOf } from '../../runtime-js/load/load_functions.js';

const MANIFESTS = {
  a: { name: 'a', weights: [{ bytes: 10 }, { bytes: 20 }] },
  b: { name: 'b', weights: [{ bytes: 70 }] },
};

/** @param {(name: string) => void} [begin] */
function bundle(begin = () => {}) {
  const events = [];
  const load = async ({ name, weights }, options, tokenizers) => {
    events.push(`load ${name}`, tokenizers);
    begin(name);
    const total = weights.reduce((sum, { bytes }) => sum + bytes, 0);
    options?.onProgress?.({ phase: 'code', loaded: 0, total: 0 });
    options?.onProgress?.({ phase: 'weights', loaded: total / 2, total });
    options?.onProgress?.({ phase: 'compile', loaded: 3, total: 3 });
    options?.onProgress?.({ phase: 'ready', loaded: total, total });
    return { info: () => ({ name }), dispose: async () => events.push(`dispose ${name}`) };
  };
  const cacheOf = ({ name }) => ({ size: async () => name.charCodeAt(0), clear: async () => name === 'b' });
  return { events, ...functionsOf(load, cacheOf, MANIFESTS, 'tokenizers') };
}

test('models are loaded one after the other, and disposed of together', async () => {
  const { events, load } = bundle();
  const models = await load();
  assert.deepEqual(Object.keys(models), ['a', 'b', 'info', 'dispose']);
  assert.deepEqual(models.info(), { a: { name: 'a' }, b: { name: 'b' } });
  await models.dispose();
  assert.deepEqual(events, ['load a', 'tokenizers', 'load b', 'tokenizers', 'dispose a', 'dispose b']);
});

test('progress counts the weights of all, and is ready once', async () => {
  const seen = [];
  await bundle().load({ onProgress: ({ phase, loaded, total }) => seen.push(`${phase} ${loaded}/${total}`) });
  assert.deepEqual(seen, [
    ...['code 0/0', 'weights 15/100', 'compile 3/3'],
    ...['code 0/0', 'weights 65/100', 'compile 3/3', 'ready 100/100'],
  ]);
});

test('where one cannot be loaded, those before it are disposed of', async () => {
  const { events, load } = bundle((name) => {
    if (name === 'b') throw new RangeError('no b');
  });
  await assert.rejects(load(), { name: 'RangeError', message: 'no b' });
  assert.equal(events.at(-1), 'dispose a');
});

test('each is loaded by itself, and has a cache', async () => {
  const { events, b, cache } = bundle();
  assert.deepEqual((await b.load()).info(), { name: 'b' });
  assert.deepEqual(events, ['load b', 'tokenizers']);
  assert.equal(await b.cache.size(), 98);
  assert.equal(await cache.size(), 97 + 98);
  assert.equal(await cache.clear(), true);
});

test('options that are no function of progress are left to the check of each', async () => {
  let given;
  const { load } = functionsOf(
    async (_, options) => {
      given = options;
      throw new TypeError('refused');
    },
    () => ({}),
    MANIFESTS,
  );
  await assert.rejects(load({ onProgress: 1 }), TypeError);
  assert.deepEqual(given, { onProgress: 1 });
});
