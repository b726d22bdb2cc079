// A model that `webnn-rpc serve model.onnx` offers, for a page of one's own:
//   import { connect } from 'http://127.0.0.1:8765/rpc.js';
//   const model = await connect(address).load();

import { isSoftware } from '../../runtime-js/device/software_adapter.js';
import { load } from '../../runtime-js/load/load.js';
import { browserFacts } from './browser_facts.js';
import { followModel } from './follow_model.js';
import { stayConnected } from './socket.js';
import { withUrls } from './with_urls.js';

/** @typedef {import('../../runtime-js/model.js').Model} Model */
/**
 * @typedef {object} Own
 * @property {(model: Model) => void} [onChange] the model's file has changed: this is it now. The one before still runs, until
 *   the page calls its `dispose()`
 * @property {(error: Error) => void} [onError] it has changed, and does not compile or load any more
 * @property {AbortSignal} [signal] ends the connection: `load` rejects with its reason, or later changes are not seen
 * @typedef {Omit<import('../../runtime-js/model.js').LoadOptions, 'signal'> & Own} Options
 */

/** @param {string} address as `webnn-rpc serve` prints it, with the token after `#` */
export function connect(address) {
  const base = new URL(address, location.href);
  return {
    /**
     * The model, compiled for what this browser has: the same as that of a bundle's `load`.
     * @param {Options} [options]
     * @returns {Promise<Model>}
     */
    async load({ onChange = () => {}, onError = (error) => console.error(error), signal, ...options } = {}) {
      const { backends, facts } = await browserFacts();
      const backend = options.backend && options.backend !== 'auto' ? options.backend : preferred(backends, facts);
      const features = backend === 'wasm' ? facts.wasm.variants : (facts[backend]?.features ?? []);
      // Browsers start no worker with a script of another origin.
      const own = new URL(import.meta.url).origin === location.origin;
      const settings = /** @type {import('../../runtime-js/model.js').LoadOptions} */ ({
        ...(own ? {} : { worker: false }),
        ...options,
        backend,
      });
      let files = '';
      const socket = new URL('/socket', base);
      socket.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
      socket.hash = '';
      const connection = stayConnected(socket.href, {
        hello: () => ({ role: 'page', token: base.hash.slice(1), backend, features }),
        joined(welcome) {
          files = welcome.files;
        },
        message({ header }) {
          if (header.op === 'model') followed.take(header.manifest);
          else if (header.op === 'failed') followed.fail(new Error(header.message));
        },
        lost({ reason, delay }) {
          if (delay === undefined) followed.fail(new Error(`no model from ${base.origin}: ${reason}`));
        },
      });
      const followed = followModel(
        (manifest, signal) =>
          load(
            withUrls(manifest, (sha256) => new URL(files + sha256, base).href),
            { ...settings, signal },
          ),
        { onChange, onError, signal, end: connection.stop },
      );
      return followed.first;
    },
  };
}

/**
 * As `auto` of a bundle: a GPU, but no software adapter before wasm.
 * @param {string[]} backends
 * @param {Record<string, any>} facts
 */
const preferred = (backends, facts) =>
  backends.find((name) => name !== 'wasm' && !isSoftware(facts[name]?.adapter ?? '')) ?? 'wasm';
