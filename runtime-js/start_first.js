// The first backend of the bundle that can run here.
import * as backends from './backends.js';
import { DeviceLostError, UnsupportedError } from './errors.js';
import * as optional from './optional.js';

/** @typedef {import('./model.js').Progress} Progress */
/** @typedef {import('./load/load.js').Part} Part */
/** @typedef {import('./model.js').RunOptions} RunOptions */
/** @typedef {import('./model.js').KernelTime} KernelTime */
/**
 * @typedef {object} Plan What a session is started from; plain data but for `startThreads`, `signal`, `device` and `heard`.
 * @property {Part[]} parts in order of preference
 * @property {(import('./fetch/fetch_file.js').FileSpec & { offset: number })[]} weights `offset`: bytes into the weights
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} inputs
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} outputs
 * @property {readonly import('./values/sizes.js').Dimension[]} dimensions that each run decides
 * @property {number | 'auto'} threads
 * @property {boolean} warmup
 * @property {import('./wasm/features.js').Variant[]} variants of wasm that the browser has
 * @property {import('./worker/start_threads.js').StartThreads} startThreads where that is allowed
 * @property {number} timeout ms of silence
 * @property {AbortSignal | undefined} [signal] ends the start
 * @property {GPUDevice} [device] the caller's own
 * @property {() => void} [heard] called whenever something arrives
 * @property {boolean} [hardware] software adapters do not do
 * @property {typeof import('./optional.js')} [optional] parts that this model may do without
 */
/** @typedef {ArrayBufferView | import('./model.js').OnDevice} Input bytes of the model's dtype, or what a GPU has */
/** @typedef {(import('./model.js').TypedArray | GPUBuffer) & { shape?: readonly number[] }} Output */
/**
 * @typedef {object} Session A model that runs; inputs and outputs in the order of the plan's, `scalars` those of its dimensions.
 * @property {Record<string, unknown>} facts what `info` tells of it
 * @property {(inputs: Input[], scalars: readonly number[], options?: RunOptions) => Output[] | Promise<Output[]>} run
 *   outputs say their `shape` where that is not the same in every run
 * @property {(inputs: ArrayBufferView[], outputs: Uint8Array[]) => void} [runInto] a run that is over at once; `outputs` get
 *   the bytes of the results; of models without sizes that vary
 * @property {(inputs: Input[], scalars: readonly number[], repeat: number) => KernelTime[] | Promise<KernelTime[]>} profile
 * @property {() => void} dispose pending runs reject
 * @property {() => GPUDevice | undefined} [device]
 */

/**
 * @param {Plan} plan
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<Session>}
 * @throws {UnsupportedError} where none can
 */
export async function startFirst(plan, onProgress) {
  /** @type {Map<Part['backend'], string>} why not */
  const reasons = new Map();
  // A software adapter comes after wasm, and is tried again where wasm cannot run.
  const others = plan.parts.some(({ backend }) => backend === 'wasm') && plan.parts.length > 1;
  const attempts = plan.parts.map((part) => ({ part, hardware: others && part.backend !== 'wasm' }));
  for (const { part, hardware } of attempts) {
    const start = /** @type {Record<string, (plan: any, notify: typeof onProgress) => Promise<Session>>} */ (backends)[
      part.backend
    ];
    try {
      const session = await /** @type {NonNullable<typeof start>} */ (start)(
        { ...plan, ...part, hardware, optional },
        onProgress,
      );
      reasons.delete(part.backend);
      const passedOver = [...reasons].map(([backend, reason]) => ({ backend, reason }));
      return { ...session, facts: { backend: part.backend, passedOver, ...session.facts } };
    } catch (error) {
      // A GPU that is lost again and again is of no use either.
      const unfit = error instanceof UnsupportedError || error instanceof DeviceLostError;
      if (!unfit || plan.parts.length === 1 || plan.signal?.aborted) throw error;
      reasons.set(part.backend, error.message);
      if (hardware && error.code === 'software') attempts.push({ part, hardware: false });
    }
  }
  const all = [...reasons].map(([backend, reason]) => `${backend}: ${reason}`).join('; ');
  throw new UnsupportedError('backend', `this browser can run no backend of the bundle; ${all}`);
}
