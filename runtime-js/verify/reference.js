// The model on wasm, with which its runs on a GPU are compared.

import { tagOf } from '../values/dtypes.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../model.js').LoadOptions} LoadOptions */
/** @typedef {import('../model.js').Model} Model */
/**
 * @typedef {object} Compared A model on a GPU.
 * @property {Manifest} manifest
 * @property {LoadOptions} options it was loaded with
 * @property {any} info
 * @property {AbortSignal} life
 * @property {(manifest: Manifest, options: LoadOptions) => Promise<Model>} load
 * @property {() => import('../start_session.js').Session} use its session
 */

/** Options of the one model that the other has not. */
const OWN = { verify: undefined, device: undefined, warmup: undefined, onProgress: undefined, onCanaries: undefined };

/** @type {WeakMap<object, Promise<Model>>} by the info of the model that is compared */
const references = new WeakMap();

/**
 * Reference: the model on wasm, loaded once and with the same options, which ends with the other; its outputs are those of the
 * manifest, without answers.
 * @param {Compared} compared
 * @param {AbortSignal | undefined} signal ends the load
 */
export function referenceOf({ manifest, options, info, life, load }, signal) {
  const before = references.get(info);
  if (before) return before;
  const others = { ...options, backend: /** @type {const} */ ('wasm'), ...OWN, signal };
  // Files of labels stay in the specification: a load removes from the cache what its manifest does not name.
  let plain = { ...manifest, answers: undefined, unused: manifest.answers };
  // <generate>
  plain = withLogits(plain);
  // </generate>
  const loading = load(plain, others);
  references.set(info, loading);
  loading.then(
    (reference) => {
      if (life.aborted) reference.dispose();
      else life.addEventListener('abort', () => reference.dispose());
    },
    () => {}, // the promise that is returned rejects
  );
  return loading;
}

// <generate>
/**
 * A decoder whose runs give the logits, too. Modules with a program of their own have them elsewhere.
 * @template {Manifest} T
 * @param {T} manifest
 * @returns {T}
 */
function withLogits(manifest) {
  const { outputs, backends, generate } = manifest;
  if (!generate?.logits) return manifest;
  const common = backends.map((part) =>
    part.backend === 'wasm' ? { ...part, modules: withoutPrograms(part.modules), unusedModules: part.modules } : part,
  );
  return { ...manifest, outputs: [...outputs, generate.logits], backends: common };
}

/** @type {(modules: import('../wasm/start_wasm.js').WasmPart['modules']) => typeof modules} */
const withoutPrograms = (modules) =>
  Object.fromEntries(Object.entries(modules).filter(([, { program }]) => program === undefined));
// </generate>

/**
 * Whether wasm cannot take the value of an input.
 * @param {Manifest['inputs'][number]} spec
 * @param {any} value
 */
export const isOnDevice = ({ picture }, value) => {
  const tag = tagOf(value?.data ?? value);
  return tag.startsWith('GPU') || (tag === 'ImageBitmap' && !picture);
};
