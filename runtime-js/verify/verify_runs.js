// Runs on a GPU that are repeated on wasm now and then: a driver that computes wrongly reports no error.

import { RunError, UnsupportedError } from '../errors.js';
import { printed } from '../values/check_names.js';
// <finite>
import { compareOutputs, isWrong, withOtherDigits } from './compare_outputs.js';
// <generate>
import { compareSteps } from './compare_steps.js';
// </generate>
import { isOnDevice, referenceOf } from './reference.js';
import * as again from './repeat_run.js';

export { judge } from './non_finite.js';
// <buffers>
export { search } from './search_buffers.js';

// </buffers>

// </finite>

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../model.js').LoadOptions} LoadOptions */
/** @typedef {import('../model.js').Model} Model */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('./repeat_run.js').Turn} Turn */
/**
 * @typedef {object} Near Whether the next run that begins, or the one behind it, is compared: nothing is launched ahead then.
 * @property {() => boolean} [isNear] of models that give tokens
 */
/**
 * @typedef {((turn: Turn, run: (data: Input[]) => any[] | Promise<any[]>) => Promise<any[]>) & Near} Compare the results of a run,
 *   which may be compared: it rejects where they are wrong
 */

const EVERY = 100;

/**
 * Checks the option, and gives what loads the model once more, on wasm, with the same options.
 * @param {Manifest} manifest
 * @param {LoadOptions} options
 * @throws {TypeError | RangeError | UnsupportedError} where `verify` is no such option, or where there is nothing to compare with
 */
export function guard(manifest, options) {
  const { verify } = options;
  if (verify === 'non-finite') return async () => undefined; // it is for GPUs, which this bundle has none of
  const every = verify === 'sample' ? EVERY : /** @type {{ every?: number } | null} */ (verify)?.every;
  if (every === undefined)
    throw new TypeError(`verify: expected false, 'non-finite', 'sample' or { every: runs }, got ${printed(verify)}`);
  if (!(Number.isInteger(every) && every >= 1))
    throw new RangeError(`verify: expected every as a whole number from 1, got ${printed(every)}`);
  if (!manifest.backends.some(({ backend }) => backend === 'wasm')) {
    const have = manifest.backends.map(({ backend }) => backend).join(', ');
    throw new UnsupportedError(
      'backend',
      `verify compares runs with those on wasm, and this bundle has: ${have}; compile it with wasm among its --targets`,
    );
  }
  /**
   * @param {import('./reference.js').Compared} compared gets `verified`; its session ends where wasm cannot run
   * @returns {Promise<Compare | undefined>} undefined where the model runs on wasm itself
   */
  return async (compared) => {
    // <finite>
    const { info, use } = compared;
    if (info.backend !== 'wasm') {
      const reference = await referenceOf(compared, options.signal).catch((error) => {
        use().dispose();
        throw error;
      });
      info.verified = { every, runs: 0, largest: 0 };
      return compareRuns(compared, reference);
    }
    // </finite>
    return undefined;
  };
}

// <finite>
/**
 * @param {import('./reference.js').Compared} compared
 * @param {Model} reference
 * @returns {Compare}
 */
function compareRuns({ manifest, info, use }, reference) {
  const { inputs, outputs, tolerance } = manifest;
  const { verified, backend, adapter } = info;
  let count = 0;
  let due = false;
  /** @type {Compare} */
  const compare = async (turn, run) => {
    due ||= count % verified.every === 0;
    count++;
    // What a GPU alone has, and a step that was launched before its turn, are not compared, but the next run is that can be.
    if (!due || turn.ahead || inputs.some((spec, i) => isOnDevice(spec, turn.data[i]))) return run(turn.data);
    due = false;
    try {
      const own = { ...turn, data: again.copiesOf(turn.data) }; // the arrays are the caller's, who may change them
      const given = again.inputsOf(manifest, own);
      /** @type {again.States | undefined} */
      let states;
      /** @type {Record<string, any> | undefined} */
      let saved;
      // <states>
      if (manifest.states) {
        states = await again.statesOf(use(), own);
        saved = again.savedOf(manifest, own, states);
      }
      // </states>
      const repeating = again.repeatOnWasm(reference, given, saved);
      repeating.catch(() => {}); // the other run fails, too, so that nothing waits for this one
      const results = await run(own.data);
      // Outputs that stay on the device are not read: those of the same run once more are.
      const read = turn.output === 'gpu-buffer' ? await again.repeat(use(), own, states) : results;
      const wanted = await repeating;
      const got = Object.fromEntries(outputs.map(({ name }, i) => [name, read[i]]));
      const near = () =>
        again.repeatOnWasm(reference, withOtherDigits(given, tolerance), saved && withOtherDigits(saved, tolerance));
      /** @type {import('./compare_outputs.js').Apart[] | undefined} */
      let compared;
      // <generate>
      if (manifest.generate) {
        const left = await again.statesOf(use(), again.turnAfter(manifest, own, results));
        manifest.states?.forEach(({ name }, i) => {
          got[name] = left[i];
        });
        compared = await compareSteps(manifest, given, got, wanted, near);
      }
      // </generate>
      compared ??= await compareOutputs(outputs, tolerance, got, wanted, near);
      verified.runs++;
      verified.largest = Math.max(verified.largest, ...compared.map(({ apart }) => apart));
      const [worst] = compared.filter(isWrong).sort((a, b) => b.apart - a.apart);
      if (!worst) return results;
      for (const one of results) one.destroy?.();
      const much = `${worst.apart.toPrecision(2)} of the largest ${worst.of ?? 'value'}`;
      throw new RunError(
        'wrong-results',
        `${worst.kind ?? 'output'} ${JSON.stringify(worst.name)} is wrong on ${backend} (${adapter}): it differs from that of wasm by ${much}, ` +
          `and ${worst.most.toPrecision(2)} is allowed; load with { backend: 'wasm' }`,
      );
    } catch (error) {
      due = true; // nothing wrong is given out, as long as runs are wrong; and one that failed leaves its turn
      throw error;
    }
  };
  // <generate>
  compare.isNear = () => due || count % verified.every === 0 || (count + 1) % verified.every === 0;
  // </generate>
  return compare;
}
// </finite>
