// Runs by shared memory (mailbox.js), the worker's side.
import { elementOf, lengthOf } from '../values/dtypes.js';
import { extentsOf, shapeOf } from '../values/sizes.js';
import { DONE, firstBytes, GIVEN, LISTENING, POSTED, RECEIVING, RUN, STATE } from './mailbox.js';

const BYTES = 256;
const LISTEN_MS = 100;

/** @typedef {import('./mailbox.js').Mailbox} Mailbox */
/** @typedef {import('./mailbox.js').Ports} Ports */
/** @typedef {import('../values/sizes.js').Spec} Spec */

export const canShare = () =>
  !!globalThis.crossOriginIsolated &&
  typeof Atomics.waitAsync === 'function' &&
  'growable' in SharedArrayBuffer.prototype;

/**
 * Undefined where there is no room for the largest sizes.
 * @param {Ports} ports
 * @returns {Mailbox | undefined}
 */
export function createMailbox({ inputs, outputs, numbers }) {
  const control = new Int32Array(new SharedArrayBuffer(BYTES));
  control[RUN] = -1;
  control[DONE] = -1;
  const length = outputs.reduce((sum, { shape }) => sum + shape.length, numbers);
  const sizes = new Int32Array(new SharedArrayBuffer(4 * length));
  const share = (/** @type {Spec} */ { dtype, shape }) =>
    new SharedArrayBuffer(0, { maxByteLength: lengthOf(extentsOf(shape)) * elementOf(dtype).bytes });
  try {
    return { control, sizes, inputs: inputs.map(share), outputs: outputs.map(share) };
  } catch {
    return undefined;
  }
}

/**
 * The run that was handed over.
 * @param {Mailbox} mailbox
 * @param {Ports} ports
 * @param {NonNullable<import('../start_session.js').Session['runInto']>} runInto
 */
export function serveRun({ sizes, inputs, outputs }, { inputs: specs, numbers }, runInto) {
  const scalars = [...sizes.subarray(0, numbers)];
  const values = specs.map(({ dtype, shape }, i) =>
    firstBytes(inputs[i], lengthOf(shapeOf(shape, scalars)) * elementOf(dtype).bytes),
  );
  const shapes = runInto(values, scalars, (i, bytes) => firstBytes(outputs[i], bytes));
  sizes.set(
    shapes.flatMap((shape) => shape ?? []),
    numbers,
  );
}

/**
 * Serves runs until none has come for a while or a message waits.
 * @param {Mailbox} mailbox
 * @param {number} answered messages so far, of those that need an answer
 * @param {(run: number) => boolean} serve whether the run gave outputs
 */
export function listen({ control }, answered, serve) {
  for (;;) {
    Atomics.store(control, STATE, LISTENING);
    if (Atomics.load(control, POSTED) === answered) Atomics.wait(control, STATE, LISTENING, LISTEN_MS);
    if (Atomics.compareExchange(control, STATE, LISTENING, RECEIVING) !== GIVEN) return;
    const run = Atomics.load(control, RUN);
    if (serve(run)) {
      Atomics.store(control, DONE, run);
      Atomics.notify(control, DONE);
    }
  }
}

export const mailboxes = { canShare, createMailbox, listen, serveRun };
