// Runs that can be cancelled. A session hands a run to its worker or GPU at once, and cannot withdraw it: so a run with a
// signal is held back until those before it are done, and so are all after it.

import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { copiesOf } from '../values/dtypes.js';

/** @typedef {import('../start_session.js').Input} Input */

/**
 * @param {AbortSignal} life aborted when the model is disposed of
 * @param {boolean} [serial] each run begins when those before it are done
 */
export function queueRuns(life, serial = false) {
  let unfinished = 0;
  let held = 0;
  /** @type {Promise<void>} settles when all runs so far are done */
  let last = Promise.resolve();
  /**
   * @template T
   * @param {Input[]} inputs arrays are copied where the run must wait
   * @param {(inputs: Input[]) => T[] | Promise<T[]>} start
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<T[]>}
   */
  return async (inputs, start, signal) => {
    const signals = signal ? [life, signal] : [life];
    const check = () => {
      const aborted = signals.find((one) => one.aborted);
      if (aborted) throw reasonOf(aborted);
    };
    check();
    const before = last;
    /** @type {Promise<T[]>} */
    let running;
    if (held || ((signal || serial) && unfinished)) {
      held++;
      const kept = copiesOf(inputs);
      running = before.then(() => {
        held--;
        check();
        return start(kept);
      });
    } else running = Promise.resolve(start(inputs));
    unfinished++;
    const next = () => {
      unfinished--;
      return before;
    };
    last = running.then(next, next);
    return unlessAborted(running, signals, destroyBuffers);
  };
}

/**
 * Outputs that nothing else can free.
 * @param {readonly any[]} outputs
 */
const destroyBuffers = (outputs) => {
  for (const output of outputs) output.destroy?.();
};
