// `load`: from the manifest in model.js to a model that runs.
import { checkInputs } from './check_inputs.js';
import { checkOptions, checkRunOptions } from './check_options.js';
import { RunError, UnsupportedError } from './errors.js';
import { listVariants } from './features.js';
import { canHash } from './fetch_file.js';
import { startFirst } from './start_first.js';
import { startThreads } from './start_threads.js';
import { startWorker } from './start_worker.js';

const ABI = 3;

/** @typedef {import('./fetch_file.js').FileSpec} FileSpec */
/** @typedef {import('./start_wasm.js').TensorSpec} TensorSpec */
/**
 * @typedef {object} Manifest What the compiler wrote into model.js.
 * @property {number} abi
 * @property {string} name
 * @property {TensorSpec[]} inputs
 * @property {TensorSpec[]} outputs
 * @property {(FileSpec & { offset: number })[]} weights
 * @property {Part[]} backends in order of preference
 */
/**
 * @typedef {(import('./start_wasm.js').WasmPart | import('./device_program.js').DevicePart) & { kernels: number }} Part
 * What one backend needs besides; `kernels` are the launches of a run.
 */

/**
 * @param {Manifest} manifest
 * @param {import('./model.js').LoadOptions} [options]
 * @returns {Promise<import('./model.js').Model>}
 */
export async function load(manifest, options = {}) {
  if (manifest.abi !== ABI) {
    throw new UnsupportedError(
      'abi',
      `model.js has bundle format ${manifest.abi}, these runtime files have ${ABI}: compile again`,
    );
  }
  const { inputs, outputs, weights } = manifest;
  const { backend, threads, worker, warmup, device, onProgress } = checkOptions(
    options,
    manifest.backends.map((part) => part.backend),
  );
  // A fault of the caller's own function is reported as such and spoils no load.
  /** @param {import('./model.js').Progress} progress */
  const notify = (progress) => {
    try {
      onProgress(progress);
    } catch (error) {
      reportError(error);
    }
  };
  const parts = manifest.backends.filter((part) => backend === 'auto' || part.backend === backend);
  const plan = { parts, weights, inputs, outputs, threads, warmup, variants: listVariants() };
  const inWorker = worker && typeof Worker === 'function';
  const session = inWorker
    ? await startWorker(plan, notify)
    : inline(await startFirst({ ...plan, startThreads, device }, notify));
  const weightBytes = weights.reduce((sum, shard) => sum + shard.bytes, 0);
  const info = /** @type {import('./model.js').Info} */ ({
    name: manifest.name,
    ...session.facts,
    worker: inWorker,
    integrity: canHash()
      ? 'sha256'
      : 'length only: crypto.subtle is missing (the page is not served over https or localhost)',
    weightBytes,
    kernels: parts.find((part) => part.backend === session.facts.backend)?.kernels,
    abi: ABI,
  });
  notify({ phase: 'ready', loaded: weightBytes, total: weightBytes });

  const names = outputs.map((spec) => spec.name);
  const check = (/** @type {unknown} */ values) => checkInputs(inputs, values, info);
  return {
    inputs: inputs.map(publish),
    outputs: outputs.map(publish),
    backend: info.backend,
    get device() {
      return session.device?.();
    },
    info: () => structuredClone(info),
    async run(values, options = {}) {
      checkRunOptions(options, info);
      const results = await session.run(check(values), options);
      return /** @type {any} */ (Object.fromEntries(results.map((result, i) => [names[i], result])));
    },
    profile: async (values) => session.profile(check(values)),
    async dispose() {
      session.dispose();
    },
  };
}

/** @param {TensorSpec} spec */
const publish = ({ name, dtype, shape }) => Object.freeze({ name, dtype, shape: Object.freeze([...shape]) });

/**
 * The session without a worker; when it is disposed of nothing holds it any more, whoever may hold the model.
 * @param {import('./start_first.js').Session} started
 * @returns {import('./start_first.js').Session}
 */
function inline(started) {
  /** @type {import('./start_first.js').Session | undefined} */
  let session = started;
  const use = () => {
    if (session) return session;
    throw new RunError('disposed', 'the model was disposed of');
  };
  return {
    facts: started.facts,
    run: (inputs, options) => use().run(inputs, options),
    profile: (inputs) => use().profile(inputs),
    device: () => session?.device?.(),
    dispose() {
      session?.dispose();
      session = undefined;
    },
  };
}
