// A run by shared memory in place of two messages: the page hands the inputs over and wakes the worker, which waits for
// them; the worker wakes the page. It takes a third of the time. A worker that waits gets no messages, so it waits for
// a short while after each run, and the page interrupts the wait before it posts one. This is the page's side.
import { elementOf, lengthOf } from '../values/dtypes.js';
import { resultIn, roomFor } from '../values/into.js';
import { extentsOf, varies } from '../values/sizes.js';

// Words of the control block, each on a cache line of its own.
export const STATE = 0;
export const POSTED = 16; // messages that need an answer
export const RUN = 32; // number of the run that was handed over
export const DONE = 48; // number of the last one that is done

export const RECEIVING = 0; // the worker gets messages
export const LISTENING = 1; // it waits
export const GIVEN = 2; // a run was handed over

/** @typedef {Pick<import('../start_session.js').Plan, 'inputs' | 'outputs' | 'numbers'>} Ports */
/**
 * @typedef {object} Mailbox All of it is shared.
 * @property {Int32Array} control
 * @property {Int32Array} sizes the scalars of a run, then the shapes of its outputs
 * @property {SharedArrayBuffer[]} inputs
 * @property {SharedArrayBuffer[]} outputs these grow with what runs have need of
 */

/**
 * @param {SharedArrayBuffer | undefined} buffer
 * @param {number} bytes
 */
export function firstBytes(buffer, bytes) {
  const shared = /** @type {SharedArrayBuffer} */ (buffer);
  if (shared.byteLength < bytes) shared.grow(bytes);
  return new Uint8Array(shared, 0, bytes);
}

/**
 * The page: hands a run to a worker that listens and has no other. Undefined where it does not listen: post a message.
 * @param {Mailbox} mailbox
 * @param {number} run
 * @param {ArrayBufferView[]} values
 * @param {readonly number[]} scalars
 * @returns {Promise<unknown> | undefined} resolves when it is done, or never where it failed, which a message reports
 */
export function sendRun({ control, sizes, inputs }, run, values, scalars) {
  if (Atomics.load(control, STATE) !== LISTENING) return undefined;
  values.forEach(({ buffer, byteOffset, byteLength }, i) => {
    firstBytes(inputs[i], byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
  });
  sizes.set(scalars);
  const last = Atomics.load(control, DONE);
  Atomics.store(control, RUN, run);
  if (Atomics.compareExchange(control, STATE, LISTENING, GIVEN) !== LISTENING) return undefined;
  Atomics.notify(control, STATE);
  return Promise.resolve(Atomics.waitAsync(control, DONE, last).value);
}

/**
 * The page: the outputs of the run that is done, in arrays of the caller's own.
 * @param {Mailbox} mailbox
 * @param {Ports} ports
 * @param {import('../values/into.js').Into} into
 */
export function receive({ sizes, outputs }, { outputs: specs, numbers }, into) {
  let at = numbers;
  return specs.map((spec, i) => {
    const start = at;
    if (varies(spec.shape)) at += spec.shape.length;
    const own = at > start ? [...sizes.subarray(start, at)] : undefined;
    const bytes = lengthOf(own ?? extentsOf(spec.shape)) * elementOf(spec.dtype).bytes;
    const room = roomFor(spec, into[i], bytes);
    room.set(firstBytes(outputs[i], bytes));
    return resultIn(spec, room, own);
  });
}

/**
 * The page, before it posts a message that needs an answer.
 * @param {Mailbox} mailbox
 */
export function interruptWait({ control }) {
  Atomics.add(control, POSTED, 1);
  if (Atomics.compareExchange(control, STATE, LISTENING, RECEIVING) === LISTENING) Atomics.notify(control, STATE);
}

export const mailboxes = { interruptWait, receive, sendRun };
