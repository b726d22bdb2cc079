// A run by shared memory in place of two messages: the page hands the inputs over and wakes the worker, which waits for
// them; the worker wakes the page. It takes a third of the time. A worker that waits hears no messages, so it waits for
// a short while after each run, and the page calls it away before it posts one.
import { elementOf, lengthOf, typedArray } from '../values/dtypes.js';
import { extentsOf } from '../values/sizes.js';

// Words of the control block, each on a cache line of its own.
const STATE = 0;
const POSTED = 16; // messages that need an answer
const RUN = 32; // number of the run that was handed over
const DONE = 48; // number of the last one that is done
const BYTES = 256;

const AWAY = 0; // the worker hears messages
const LISTENING = 1; // it waits
const GIVEN = 2; // a run was handed over

const LISTEN_MS = 100;

/** @typedef {import('../values/sizes.js').Spec} TensorInfo whose shape is the same in every run */
/** @typedef {{ control: Int32Array, inputs: Uint8Array[], outputs: Uint8Array[] }} Mailbox all of it is shared */

export const canShare = () => !!globalThis.crossOriginIsolated && typeof Atomics.waitAsync === 'function';

/**
 * @param {readonly TensorInfo[]} inputs
 * @param {readonly TensorInfo[]} outputs
 * @returns {Mailbox}
 */
export function createMailbox(inputs, outputs) {
  const control = new Int32Array(new SharedArrayBuffer(BYTES));
  control[RUN] = -1;
  control[DONE] = -1;
  const share = (/** @type {TensorInfo} */ { dtype, shape }) =>
    new Uint8Array(new SharedArrayBuffer(lengthOf(extentsOf(shape)) * elementOf(dtype).bytes));
  return { control, inputs: inputs.map(share), outputs: outputs.map(share) };
}

/**
 * The page: hands a run to a worker that listens and has no other. Undefined where it does not listen: post a message.
 * @param {Mailbox} mailbox
 * @param {number} run
 * @param {ArrayBufferView[]} values
 * @returns {Promise<unknown> | undefined} resolves when it is done, or never where it failed, of which a message tells
 */
export function give({ control, inputs }, run, values) {
  if (Atomics.load(control, STATE) !== LISTENING) return undefined;
  values.forEach(({ buffer, byteOffset, byteLength }, i) => {
    inputs[i]?.set(new Uint8Array(buffer, byteOffset, byteLength));
  });
  const last = Atomics.load(control, DONE);
  Atomics.store(control, RUN, run);
  if (Atomics.compareExchange(control, STATE, LISTENING, GIVEN) !== LISTENING) return undefined;
  Atomics.notify(control, STATE);
  return Promise.resolve(Atomics.waitAsync(control, DONE, last).value);
}

/**
 * The page: what the run that is done gave, in arrays of the caller's own.
 * @param {Mailbox} mailbox
 * @param {readonly TensorInfo[]} specs
 */
export const take = ({ outputs }, specs) =>
  outputs.map((bytes, i) => typedArray(/** @type {TensorInfo} */ (specs[i]).dtype, bytes.slice().buffer));

/**
 * The page, before it posts a message that needs an answer.
 * @param {Mailbox} mailbox
 */
export function callAway({ control }) {
  Atomics.add(control, POSTED, 1);
  if (Atomics.compareExchange(control, STATE, LISTENING, AWAY) === LISTENING) Atomics.notify(control, STATE);
}

/**
 * The worker: serves runs until none has come for a while or a message waits.
 * @param {Mailbox} mailbox
 * @param {number} answered messages so far, of those that need an answer
 * @param {(run: number) => boolean} serve whether the run gave outputs
 */
export function listen({ control }, answered, serve) {
  for (;;) {
    Atomics.store(control, STATE, LISTENING);
    if (Atomics.load(control, POSTED) === answered) Atomics.wait(control, STATE, LISTENING, LISTEN_MS);
    if (Atomics.compareExchange(control, STATE, LISTENING, AWAY) !== GIVEN) return;
    const run = Atomics.load(control, RUN);
    if (serve(run)) {
      Atomics.store(control, DONE, run);
      Atomics.notify(control, DONE);
    }
  }
}
