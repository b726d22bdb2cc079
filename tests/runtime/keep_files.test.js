import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, test } from 'node:test';
import { fetchFile } from '../../runtime-js/fetch/fetch_file.js';
import { openStore, storeName } from '../../runtime-js/fetch/keep_files.js';
import { dropOthers } from '../../runtime-js/fetch/kept_files.js';
import { watchDownloads } from '../../runtime-js/fetch/watch_downloads.js';
import { cacheOf } from '../../runtime-js/load/cache_of.js';
import { referenceOf } from '../../runtime-js/verify/reference.js';

const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
const ONE = Uint8Array.from([1, 2, 3]);
const SPEC = { url: 'http://here.test/bundle/one.bin', bytes: 3, sha256: hash(ONE) };
const MANIFEST = {
  name: 'm',
  weights: [],
  backends: [{ backend: 'wasm', steps: SPEC, modules: { plain: { ...SPEC, sha256: 'b' } } }],
};

/** Cache storage, as far as it is used; `full` refuses what is put. */
function pretend({ full = false } = {}) {
  const stores = new Map();
  globalThis.caches = {
    has: async (name) => stores.has(name),
    delete: async (name) => stores.delete(name),
    open: async (name) => {
      const files = stores.get(name) ?? new Map();
      stores.set(name, files);
      return {
        match: async (key) => (files.has(key) ? new Response(files.get(key)) : undefined),
        matchAll: async () => [...files.values()].map((bytes) => new Response(bytes)),
        keys: async () => [...files.keys()].map((url) => ({ url })),
        delete: async (key) => files.delete(key),
        put: async (key, answer) => {
          if (full) throw new Error('QuotaExceededError');
          files.set(key, await answer.arrayBuffer());
        },
      };
    },
  };
  return stores;
}

const { fetch } = globalThis;
afterEach(() => {
  delete globalThis.caches;
  globalThis.fetch = fetch;
});

/** Fetches the file with a store, from a server that has `bytes`; how many bytes came from each. */
async function load(store, bytes = ONE) {
  let requests = 0;
  globalThis.fetch = async () => {
    requests++;
    return new Response(bytes);
  };
  const target = new Uint8Array(3);
  await fetchFile(SPEC, target, () => {}, watchDownloads({ store }));
  await new Promise((resolve) => setTimeout(resolve)); // what nothing waits for
  return { target, requests };
}

test('a file is kept once it is checked, and not asked for again', async () => {
  pretend();
  assert.equal((await load(await openStore('x'))).requests, 1);
  const again = await openStore('x');
  const { target, requests } = await load(again);
  assert.deepEqual([requests, target, again.kept], [0, ONE, { bytes: 3 }]);
  assert.equal((await load(await openStore('another'))).requests, 1);
});

test('what is not the file is not kept', async () => {
  const stores = pretend();
  await assert.rejects(load(await openStore('x'), Uint8Array.from([1, 2, 4])), { code: 'altered' });
  assert.equal(stores.get('x').size, 0);
});

test('a kept file that is damaged is fetched again', async () => {
  const stores = pretend();
  await load(await openStore('x'));
  for (const damaged of [
    [1, 2, 4],
    [1, 2],
    [1, 2, 3, 4],
  ]) {
    for (const key of stores.get('x').keys()) stores.get('x').set(key, Uint8Array.from(damaged));
    const { target, requests } = await load(await openStore('x'));
    assert.deepEqual([requests, target], [1, ONE]);
  }
  assert.equal((await load(await openStore('x'))).requests, 0);
});

test('without room or without Cache storage files come from the server, with the reason', async () => {
  pretend({ full: true });
  const full = await openStore('x');
  assert.deepEqual((await load(full)).target, ONE);
  assert.deepEqual(full.kept, { bytes: 0, reason: 'QuotaExceededError' });
  delete globalThis.caches;
  const none = await openStore('x');
  assert.deepEqual((await load(none)).target, ONE);
  assert.match(none.kept.reason, /no Cache storage here/);
});

test('the size of a cache, and its removal', async () => {
  pretend();
  const cache = cacheOf(MANIFEST);
  assert.equal(await cache.size(), 0);
  assert.equal(await cache.clear(), false);
  await load(await openStore(storeName(MANIFEST)));
  assert.equal(await cache.size(), 3);
  assert.equal(await cache.clear(), true);
  assert.equal(await cache.size(), 0);
});

test('files of another version are removed', async () => {
  const stores = pretend();
  const store = await openStore(storeName(MANIFEST));
  for (const name of [SPEC.sha256, 'b', 'older']) await store.keep(name, ONE);
  await dropOthers(MANIFEST);
  const left = [...stores.get(storeName(MANIFEST)).keys()].map((url) => url.split('/').pop());
  assert.deepEqual(left, [SPEC.sha256, 'b']);
});

test('the model on wasm, which has no answers, leaves the files of their labels', async () => {
  const stores = pretend();
  const manifest = { ...MANIFEST, answers: [{ name: 'a', kind: 'classify', labels: { ...SPEC, sha256: 'labels' } }] };
  const store = await openStore(storeName(manifest));
  for (const name of ['labels', 'older']) await store.keep(name, ONE);
  const loaded = async (plain) => {
    assert.equal(plain.answers, undefined);
    await dropOthers(plain);
    return { dispose() {} };
  };
  await referenceOf({ manifest, options: {}, info: {}, life: new AbortController().signal, load: loaded });
  const left = [...stores.get(storeName(manifest)).keys()].map((url) => url.split('/').pop());
  assert.deepEqual(left, ['labels']);
});

test('bundles at different places, and models of different names, have caches of their own', () => {
  const at = (url, name = 'm') => storeName({ name, weights: [{ url }], backends: [] });
  assert.equal(at('http://a.test/x/w-1.bin'), at('http://a.test/x/w-2.bin'));
  assert.notEqual(at('http://a.test/x/w-1.bin'), at('http://a.test/y/w-1.bin'));
  assert.notEqual(at('http://a.test/x/w-1.bin'), at('http://a.test/x/w-1.bin', 'n'));
});
