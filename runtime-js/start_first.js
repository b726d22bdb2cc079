// The first backend of the bundle that can run here.
import * as backends from './backends.js';
import { DeviceLostError, ModelError, UnsupportedError } from './errors.js';
import { openStore } from './fetch/keep_files.js';
import * as optional from './optional.js';

/** @typedef {import('./model.js').Progress} Progress */
/** @typedef {import('./load/load.js').Part} Part */
/** @typedef {import('./model.js').RunOptions} RunOptions */
/** @typedef {import('./model.js').KernelTime} KernelTime */
/**
 * @typedef {object} Plan What a session is started from; plain data but for `startThreads`, `signal`, `device` and `onActivity`.
 * @property {Part[]} parts in order of preference
 * @property {(import('./fetch/fetch_file.js').FileSpec & { offset: number })[]} weights `offset`: bytes into the weights
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} inputs
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} outputs
 * @property {readonly import('./values/sizes.js').Dimension[]} dimensions that each run decides
 * @property {readonly import('./values/sizes.js').Refusal[]} [refusals]
 * @property {number | 'auto'} threads
 * @property {boolean} warmup
 * @property {import('./wasm/features.js').Variant[]} variants of wasm that the browser has
 * @property {import('./worker/start_threads.js').StartThreads} startThreads where that is allowed
 * @property {number} timeout ms of silence
 * @property {AbortSignal | undefined} [signal] ends the start
 * @property {GPUDevice} [device] the caller's own
 * @property {string} [cache] the name of the cache where files are kept
 * @property {() => void} [onActivity] called whenever something arrives
 * @property {boolean} [hardware] software adapters do not do
 * @property {typeof import('./optional.js')} [optional] parts that this model may do without
 * @property {import('./fetch/keep_files.js').Store} [store]
 */
/** @typedef {Pick<RunOptions, 'output' | 'signal'> & { into?: import('./values/into.js').Into }} SessionOptions `into` is a hint: outputs may come elsewhere */
/** @typedef {ArrayBufferView | import('./model.js').OnDevice} Input bytes of the model's dtype, or what a GPU has */
/** @typedef {(import('./model.js').TypedArray | GPUBuffer) & { shape?: readonly number[] }} Output */
/**
 * @typedef {object} Session A model that runs; inputs and outputs in the order of the plan's, `scalars` those of its dimensions.
 * @property {Record<string, unknown>} facts what `info` lists of it
 * @property {(inputs: Input[], scalars: readonly number[], options?: SessionOptions) => Output[] | Promise<Output[]>} run
 *   outputs say their `shape` where that is not the same in every run
 * @property {(inputs: ArrayBufferView[], scalars: readonly number[], roomOf: (output: number, bytes: number) =>
 *   Uint8Array | undefined) => (number[] | undefined)[]} [runInto] a run that is over at once; outputs go to rooms of so many
 *   bytes; their shapes, where these vary
 * @property {(inputs: Input[], scalars: readonly number[], repeat: number) => KernelTime[] | Promise<KernelTime[]>} profile
 * @property {() => void} dispose pending runs reject
 * @property {() => GPUDevice | undefined} [device]
 */

/**
 * @param {Plan} plan
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<Session>}
 * @throws {UnsupportedError | import('./errors.js').ModelError} where none can: what the browser lacks, or the first file
 *   that a backend alone has need of and that did not arrive as it should
 */
export async function startFirst(plan, onProgress) {
  /** @type {Map<Part['backend'], string>} why not */
  const reasons = new Map();
  /** @type {ModelError | undefined} */
  let faulty;
  const store = plan.cache === undefined ? undefined : await openStore(plan.cache);
  // A software adapter comes after wasm, and is tried again where wasm cannot run.
  const others = plan.parts.some(({ backend }) => backend === 'wasm') && plan.parts.length > 1;
  const attempts = plan.parts.map((part) => ({ part, hardware: others && part.backend !== 'wasm' }));
  for (const { part, hardware } of attempts) {
    const start = /** @type {Record<string, (plan: any, notify: typeof onProgress) => Promise<Session>>} */ (backends)[
      part.backend
    ];
    try {
      const session = await /** @type {NonNullable<typeof start>} */ (start)(
        { ...plan, ...part, hardware, optional, ...(store && { store }) },
        onProgress,
      );
      reasons.delete(part.backend);
      const passedOver = [...reasons].map(([backend, reason]) => ({ backend, reason }));
      return {
        ...session,
        facts: { backend: part.backend, passedOver, ...(store && { cache: store.kept }), ...session.facts },
      };
    } catch (error) {
      if (!(error instanceof ModelError) || plan.parts.length === 1 || plan.signal?.aborted) throw error;
      // The next backend needs the weights, too, and after silence it would wait as long again.
      const own = error.url !== undefined && !plan.weights.some(({ url }) => url === error.url);
      if (own) faulty ??= error;
      // A GPU that is lost again and again is of no use either.
      else if (!(error instanceof UnsupportedError || error instanceof DeviceLostError)) throw error;
      reasons.set(part.backend, error.message);
      if (hardware && error.code === 'software') attempts.push({ part, hardware: false });
    }
  }
  if (faulty) throw faulty;
  const all = [...reasons].map(([backend, reason]) => `${backend}: ${reason}`).join('; ');
  throw new UnsupportedError('backend', `this browser can run no backend of the bundle; ${all}`);
}
