// A session on one backend, in the thread where it runs.
import { openStore } from './fetch/keep_files.js';

/** @typedef {import('./model.js').RunOptions} RunOptions */
/** @typedef {import('./model.js').KernelTime} KernelTime */
/**
 * @typedef {object} Ports
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} inputs
 * @property {readonly import('./wasm/start_wasm.js').TensorSpec[]} outputs
 * @property {readonly import('./values/sizes.js').Dimension[]} dimensions that each run decides
 * @property {readonly StateSpec[]} [states] what runs find as those before have left it
 * @property {{ input: number, output: number }} [fed] of a decoder: its input of tokens, and the output that has the next one
 * @property {number} numbers of a run: the scalars of dimensions, and with states that of the session
 */
/**
 * @typedef {object} OwnPlan What a session is started from besides; plain data but for `startThreads`, `signal`, `device`, `checking` and `onActivity`.
 * @property {(import('./fetch/fetch_file.js').FileSpec & { offset: number })[]} weights `offset`: bytes into the weights
 * @property {readonly import('./values/sizes.js').Refusal[]} [refusals]
 * @property {number | 'auto'} threads
 * @property {boolean} warmup
 * @property {import('./wasm/features.js').Variant[]} variants of wasm that the browser has
 * @property {import('./worker/start_threads.js').StartThreads} startThreads where that is allowed
 * @property {boolean} [inWorker] runs hold up no page
 * @property {number} timeout ms of silence
 * @property {AbortSignal | undefined} [signal] ends the start
 * @property {GPUDevice} [device] the caller's own
 * @property {string} [cache] the name of the cache where files are kept
 * @property {() => void} [onActivity] called whenever something arrives
 * @property {boolean} [hardware] software adapters do not do
 * @property {import('./fetch/keep_files.js').Store} [store]
 * @property {boolean | 'all'} [canaries] whether kernels are checked; all of them
 * @property {(open: import('./device/device_program.js').Open) => import('./device/device_program.js').Open} [checking] devices whose
 *   launches are compared, in place of those that are opened
 * @property {boolean} [others] whether another backend can take the place of this one
 */
/** @typedef {Ports & OwnPlan} Plan */
/** @typedef {Pick<RunOptions, 'output' | 'signal'> & { into?: import('./values/into.js').Into, fed?: boolean }} SessionOptions
 *   `into` is a hint: outputs may come elsewhere; `fed`: the token is that of the session's run before */
/** @typedef {ArrayBufferView | import('./model.js').OnDevice} Input bytes of the model's dtype, or what a GPU has */
/** @typedef {(import('./model.js').TypedArray | GPUBuffer) & { shape?: readonly number[] }} Output */
/**
 * @typedef {import('./values/sizes.js').Spec & { room: readonly number[], overwritten?: true, stays?: true }} StateSpec
 *   `room`: the shape of its memory; `overwritten`: it is not what it was with new rows behind; `stays`: it is left as it is all
 *   the same where others drop rows
 */
/**
 * @typedef {'read' | 'write' | 'copy' | 'move' | 'drop' | 'undo'} Action `write` makes states anew: of zeros, or of the arrays that are
 *   given; `move` leaves the last rows, as many as there are with the scalars `stay`; `undo` takes back what the last run,
 *   which was `fed`, has changed in states without rows
 */
/**
 * @typedef {object} Session A model that runs; inputs and outputs in the order of the plan's, `scalars` the plan's `numbers`.
 * @property {Record<string, unknown>} facts what `info` lists of it
 * @property {(inputs: Input[], scalars: readonly number[], options?: SessionOptions) => Output[] | Promise<Output[]>} run
 *   outputs say their `shape` where that is not the same in every run
 * @property {(inputs: ArrayBufferView[], scalars: readonly number[], roomOf: (output: number, bytes: number) =>
 *   Uint8Array | undefined) => (number[] | undefined)[]} [runInto] a run that is over at once; outputs go to rooms of so many
 *   bytes; their shapes, where these vary
 * @property {(inputs: Input[], scalars: readonly number[], repeat: number) => KernelTime[] | Promise<KernelTime[]>} profile
 * @property {(arrays: ArrayBufferView[], scalars: readonly number[], action: Action, session?: number, from?: number,
 *   stay?: readonly number[]) => Output[] | Promise<Output[]>} [keep] does something with the states of a session, a new one where none is named; `read`
 *   gives them, the others in one array the number of the session and the bytes of all memory now
 * @property {() => void} dispose pending runs reject
 * @property {() => GPUDevice | undefined} [device]
 * @property {(why: any, call?: import('./load/take_next.js').Call) => Promise<any>} [giveUp] another backend takes its place
 */

/** @typedef {import('./model.js').Progress | { canaries: import('./model.js').CanaryInfo, reason?: string }} Notice progress of the load;
 *   after it, what came of kernels that were tried once more, and why the backend is given up */
/**
 * @typedef {object} Backend The exports of its script.
 * @property {(plan: any, notify: (notice: Notice) => void) => Promise<Session>} start
 * @property {typeof import('./worker/serve_mailbox.js').mailboxes} [mailboxes] of wasm
 */

/**
 * @param {Backend} backend
 * @param {Plan} plan
 * @param {(notice: Notice) => void} notify
 * @returns {Promise<Session>}
 */
export async function startSession({ start }, plan, notify) {
  if (plan.cache === undefined) return start(plan, notify);
  const store = await openStore(plan.cache);
  const session = await start({ ...plan, store }, notify);
  return { ...session, facts: { cache: store.kept, ...session.facts } };
}
