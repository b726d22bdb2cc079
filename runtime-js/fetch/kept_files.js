// What is in the browser's Cache storage of a bundle: its size, and files of older versions. A script of its own, for few pages have
// need of it.
import { storeName } from './keep_files.js';

/** @param {string} name of the cache */
export async function sizeOf(name) {
  const cache = (await globalThis.caches?.has(name)) ? await caches.open(name) : undefined;
  const answers = (await cache?.matchAll()) ?? [];
  const sizes = await Promise.all(answers.map(async (answer) => (await answer.blob()).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/**
 * Removes what no file of the bundle has: files of another version of it.
 * @param {Parameters<typeof storeName>[0]} manifest
 */
export async function dropOthers(manifest) {
  const needed = new Set(JSON.stringify(manifest).match(/(?<="sha256":")\w+/g));
  const cache = await caches.open(storeName(manifest));
  for (const { url } of await cache.keys())
    if (!needed.has(/** @type {string} */ (url.split('/').pop()))) await cache.delete(url);
}
