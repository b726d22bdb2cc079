// A model that changes: of those that arrive the newest one counts, whichever is loaded first.

/** @typedef {import('../../runtime-js/model.js').Model} Model */
/**
 * @typedef {object} Follower
 * @property {Promise<Model>} first
 * @property {(manifest: any) => Promise<void>} take loads the next model; one that is still loading is aborted
 * @property {(error: Error) => void} fail there is no next model, for this reason
 */

/**
 * `first` is the first model, later ones are given to `onChange`, and are the caller's as that one is. An error before the first
 * rejects, one after it is given to `onError`. `end` is called once, when no more models are needed: the first model
 * failed, or `signal` was aborted.
 * @param {(manifest: any, signal: AbortSignal) => Promise<Model>} load
 * @param {{ onChange: (model: Model) => void, onError: (error: Error) => void, end: () => void, signal?: AbortSignal }} events
 * @returns {Follower}
 */
export function followModel(load, { onChange, onError, end, signal }) {
  let loading = new AbortController();
  let ended = false;
  let newest = '';
  /** @type {((model: Model) => void) | undefined} */
  let resolve;
  /** @type {(reason: any) => void} */
  let reject;
  /** @type {Promise<Model>} */
  const first = new Promise((...settle) => {
    [resolve, reject] = settle;
  });

  /** @param {any} reason */
  const stop = (reason) => {
    if (ended) return;
    ended = true;
    loading.abort(reason);
    end();
    reject(reason);
  };

  /** @param {Error} error */
  const fail = (error) => {
    if (resolve) stop(error);
    else onError(error);
  };

  /** @param {any} manifest */
  const take = async (manifest) => {
    const text = JSON.stringify(manifest);
    if (ended || text === newest) return; // the broker sends the model again after each connection
    newest = text;
    loading.abort();
    loading = new AbortController();
    const { signal: own } = loading;
    try {
      const model = await load(manifest, own);
      if (own.aborted) {
        await model.dispose();
        return;
      }
      if (resolve) resolve(model);
      else onChange(model);
      resolve = undefined;
    } catch (error) {
      if (own.aborted) return;
      newest = '';
      fail(/** @type {Error} */ (error));
    }
  };

  signal?.addEventListener('abort', () => stop(signal.reason), { once: true });
  if (signal?.aborted) stop(signal.reason);
  return { first, take, fail };
}
