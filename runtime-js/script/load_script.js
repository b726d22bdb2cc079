// `load` of a classic script, beside which the model's files lie, or where the caller says.

import { load as loadModel } from '../load/load.js';

export { cacheOf } from '../load/cache_of.js';

/**
 * @param {(urlOf: (file: string) => string) => import('../load/load.js').Manifest} manifest
 * @param {import('../model.js').LoadOptions & { base?: string | URL }} [options] `base`: the folder of the files
 * @param {() => any} [tokenizerPackage] as `load` takes it
 */
export async function load(manifest, options = {}, tokenizerPackage) {
  const { base, ...others } = options ?? {};
  const here = globalThis.location?.href;
  /** @type {string | URL | undefined} */
  let folder = import.meta.url ?? here;
  try {
    if (base !== undefined) folder = new URL(`${base}`.replace(/\/?$/, '/'), here);
  } catch {
    throw new TypeError(`base: expected the URL of a folder, got ${String(base)}`);
  }
  return loadModel(
    manifest((file) => new URL(file, folder).href),
    base === undefined ? options : others,
    tokenizerPackage,
  );
}
