// The cache of a bundle's files, for pages that show or clear it.
import { storeName } from '../fetch/keep_files.js';

/**
 * The size of a page's cache, and its removal.
 * @param {Parameters<typeof storeName>[0]} manifest
 * @returns {import('../model.js').ModelCache}
 */
export function cacheOf(manifest) {
  const name = storeName(manifest);
  return {
    size: async () => (await import('../fetch/kept_files.js')).sizeOf(name),
    clear: async () => Boolean(await globalThis.caches?.delete(name)),
  };
}
