// `load`: from the manifest in model.js to a model that runs.
import { checkInputs } from './check_inputs.js';
import { checkOptions } from './check_options.js';
import { RunError, UnsupportedError } from './errors.js';
import { pickVariant } from './features.js';
import { canHash } from './fetch_file.js';
import { startWasm } from './start_wasm.js';
import { startWorker } from './start_worker.js';

const ABI = 1;

/** @typedef {import('./model.js').TypedArray} TypedArray */
/** @typedef {import('./start_wasm.js').TensorSpec} TensorSpec */
/**
 * @typedef {object} Manifest What the compiler wrote into model.js.
 * @property {number} abi
 * @property {string} name
 * @property {TensorSpec[]} inputs
 * @property {TensorSpec[]} outputs
 * @property {number} kernels
 * @property {{ pages: number, weights: number, arena: number }} memory
 * @property {Record<string, import('./start_wasm.js').WasmPlan['module']>} modules by variant
 * @property {(import('./fetch_file.js').FileSpec & { offset: number })[]} weights
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
  const { threads, worker, warmup, onProgress } = checkOptions(options, ['wasm']);
  // A fault of the caller's own function is reported as such and spoils no load.
  /** @param {import('./model.js').Progress} progress */
  const notify = (progress) => {
    try {
      onProgress(progress);
    } catch (error) {
      reportError(error);
    }
  };
  const variant = pickVariant(Object.keys(manifest.modules));
  const module = /** @type {import('./start_wasm.js').WasmPlan['module']} */ (manifest.modules[variant]);
  const { memory, weights, inputs, outputs } = manifest;
  const plan = { module, weights, memory, inputs, outputs, threads, warmup };
  const inWorker = worker && typeof Worker === 'function';
  const weightBytes = weights.reduce((sum, shard) => sum + shard.bytes, 0);
  const session = inWorker ? await startWorker(plan, notify) : inline(await startWasm(plan, notify));
  /** @type {import('./model.js').Info} */
  const info = {
    name: manifest.name,
    backend: 'wasm',
    variant,
    threads: session.facts.threads,
    threadsReason: session.facts.threadsReason,
    worker: inWorker,
    integrity: canHash()
      ? 'sha256'
      : 'length only: crypto.subtle is missing (the page is not served over https or localhost)',
    weightBytes,
    memoryBytes: session.facts.memoryBytes,
    kernels: manifest.kernels,
    abi: ABI,
  };
  notify({ phase: 'ready', loaded: weightBytes, total: weightBytes });

  const names = outputs.map((spec) => spec.name);
  return {
    inputs: inputs.map(publish),
    outputs: outputs.map(publish),
    backend: info.backend,
    info: () => ({ ...info }),
    async run(values) {
      const results = await session.run(checkInputs(inputs, values));
      return Object.fromEntries(results.map((result, i) => [names[i], result]));
    },
    async dispose() {
      session.dispose();
    },
  };
}

/** @param {TensorSpec} spec */
const publish = ({ name, dtype, shape }) => Object.freeze({ name, dtype, shape: Object.freeze([...shape]) });

/**
 * The session without a worker: calls already come one after the other.
 * @param {import('./start_wasm.js').Session | undefined} session
 */
function inline(session) {
  return {
    facts: /** @type {import('./start_wasm.js').Session} */ (session).facts,
    /** @param {TypedArray[]} inputs */
    run(inputs) {
      if (!session) throw new RunError('disposed', 'the model was disposed of');
      return session.run(inputs);
    },
    dispose() {
      session?.dispose();
      session = undefined;
    },
  };
}
