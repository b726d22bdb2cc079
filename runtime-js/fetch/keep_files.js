// What `load({ cache: true })` keeps in the browser's Cache storage: the files of one bundle, each by the hash of what is in it.
// Each bundle has a cache of its own, from which files of older versions are removed.

/** @typedef {{ bytes: number, reason?: string }} Kept what came from there, and why the cache does not serve */
/**
 * @typedef {object} Store
 * @property {(sha256: string) => Promise<Response | undefined>} find
 * @property {(sha256: string, bytes: Uint8Array<ArrayBuffer>) => Promise<void>} keep
 * @property {(sha256: string) => Promise<unknown>} drop
 * @property {Kept} kept
 */

/**
 * A store that never fails: without Cache storage, or where it is full, files come from the server each time.
 * @param {string} name
 * @returns {Promise<Store>}
 */
export async function openStore(name) {
  /** @type {Kept} */
  const kept = { bytes: 0 };
  /** @type {<T>(use: () => Promise<T>) => Promise<T | undefined>} */
  const attempt = async (use) => {
    try {
      return await use();
    } catch (error) {
      kept.reason ??= /** @type {Error} */ (error).message;
      return undefined;
    }
  };
  if (!globalThis.caches) {
    kept.reason = 'there is no Cache storage here (the page is not served over https or localhost)';
  }
  const cache = kept.reason ? undefined : await attempt(() => caches.open(name));
  // Cache storage has addresses for keys: one in the bundle's folder, with which the name ends.
  const address = (/** @type {string} */ sha256) => name.slice(name.lastIndexOf(' ') + 1) + sha256;
  return {
    kept,
    find: async (sha256) => cache && attempt(() => cache.match(address(sha256))),
    keep: async (sha256, bytes) => cache && attempt(() => cache.put(address(sha256), new Response(bytes))),
    drop: async (sha256) => cache && attempt(() => cache.delete(address(sha256))),
  };
}

/**
 * @param {{ name: string, weights: readonly { url: string }[], backends: readonly object[] }} manifest
 * @returns {string} of the cache of this bundle at this place
 */
export const storeName = ({ name, weights, backends }) =>
  `webnn-compile ${name} ${/"(\w+:[^"]*\/)[^"/]*"/.exec(JSON.stringify([weights, backends]))?.[1]}`;
