// Several models in one bundle: what loads each of them, and what loads all.

/** @typedef {import('./load.js').Manifest} Manifest */
/** @typedef {import('../model.js').LoadOptions} LoadOptions */
/** @typedef {import('../model.js').Model} Model */
/** @typedef {(options?: LoadOptions) => Promise<Model>} Load */

/**
 * @param {(manifest: Manifest, options?: LoadOptions, tokenizerPackage?: () => any) => Promise<Model>} load
 * @param {(manifest: Manifest) => import('../model.js').ModelCache} cacheOf
 * @param {Record<string, Manifest>} manifests by the names of the models
 * @param {() => any} [tokenizerPackage]
 */
export function functionsOf(load, cacheOf, manifests, tokenizerPackage) {
  const all = Object.entries(manifests).map(([name, manifest]) => ({
    name,
    bytes: manifest.weights.reduce((sum, shard) => sum + shard.bytes, 0),
    load: /** @type {Load} */ ((options) => load(manifest, options, tokenizerPackage)),
    cache: cacheOf(manifest),
  }));
  return {
    ...Object.fromEntries(all.map(({ name, load, cache }) => [name, { load, cache }])),
    load: (/** @type {LoadOptions | undefined} */ options) => loadAll(all, options),
    cache: {
      size: async () => (await Promise.all(all.map(({ cache }) => cache.size()))).reduce((sum, size) => sum + size, 0),
      clear: async () => (await Promise.all(all.map(({ cache }) => cache.clear()))).some(Boolean),
    },
  };
}

/**
 * One model after the other: each has the bandwidth for itself, and files of several come from the browser's cache.
 * @param {readonly { name: string, bytes: number, load: Load }[]} functions
 * @param {LoadOptions} [options]
 */
async function loadAll(functions, options = {}) {
  const total = functions.reduce((sum, { bytes }) => sum + bytes, 0);
  const { onProgress } = options;
  /** @type {[string, Model][]} */
  const models = [];
  const dispose = async () => {
    await Promise.all(models.map(([, model]) => model.dispose()));
  };
  let before = 0;
  for (const { name, bytes, load } of functions) {
    const start = before;
    before += bytes;
    /** @param {import('../model.js').Progress} progress */
    const onOwn = ({ phase, loaded, total: own }) => {
      if (phase === 'weights') onProgress?.({ phase, loaded: start + loaded, total });
      else if (phase !== 'ready') onProgress?.({ phase, loaded, total: own });
      else if (models.length === functions.length - 1) onProgress?.({ phase, loaded: total, total });
    };
    const given = typeof onProgress === 'function' ? { ...options, onProgress: onOwn } : options;
    try {
      models.push([name, await load(given)]);
    } catch (error) {
      await dispose();
      throw error;
    }
  }
  const info = () => Object.fromEntries(models.map(([name, model]) => [name, model.info()]));
  return { ...Object.fromEntries(models), info, dispose };
}
