// Runs on a GPU that are repeated on wasm now and then: a driver that computes wrongly reports no error.

import { RunError, UnsupportedError } from '../errors.js';
import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { printed } from '../values/check_names.js';
import { compareOutputs, isWrong, withOtherDigits } from './compare_outputs.js';
import { isOnDevice, referenceOf } from './reference.js';

// <finite>
export { judge } from './non_finite.js';

// </finite>

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../model.js').LoadOptions} LoadOptions */
/** @typedef {import('../model.js').Model} Model */
/**
 * @typedef {(values: any, output: string, signal?: AbortSignal) => ((results: readonly any[]) => Promise<void>) | undefined} Begin
 *   a run, which may be compared: what compares its results, in the order of the manifest's outputs; it rejects where they are
 *   wrong, and as soon as the signal is aborted
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
  if (manifest.states)
    throw new UnsupportedError(
      'verify',
      'verify compares single runs, and those of this model depend on states that runs before have left: load without it',
    );
  /**
   * @param {(manifest: Manifest, options: LoadOptions) => Promise<Model>} load
   * @param {any} info of the model that is compared, which gets `verified`
   * @param {{ dispose: () => void }} session of that model, which ends where wasm cannot run
   * @param {AbortSignal} life of that model
   * @returns {Promise<Begin | undefined>} undefined where the model runs on wasm itself
   */
  return async (load, info, session, life) => {
    if (info.backend === 'wasm') return undefined;
    const reference = await referenceOf({ manifest, options, info, life, load }, options.signal).catch((error) => {
      session.dispose();
      throw error;
    });
    info.verified = { every, runs: 0, largest: 0 };
    return compareRuns(manifest, reference, info, life);
  };
}

/**
 * @param {Manifest} manifest
 * @param {Model} reference
 * @param {any} info
 * @param {AbortSignal} life
 * @returns {Begin}
 */
function compareRuns({ inputs, outputs, tolerance }, reference, info, life) {
  const { verified, backend, adapter } = info;
  let count = 0;
  let due = false;
  return (values, output, signal) => {
    due ||= count % verified.every === 0;
    count++;
    // What a GPU alone has is not compared, but the next run is that can be.
    if (!due || output !== 'array' || inputs.some((spec) => isOnDevice(spec, values?.[spec.name]))) return undefined;
    due = false;
    const changed = withOtherDigits(values, tolerance);
    // Now: the arrays are the caller's, who may change them once the run has begun.
    const running = reference.run(values);
    running.catch(() => {
      due = true; // the other run fails, too, so that nothing waits for this one
    });
    const signals = signal ? [life, signal] : [life];
    const check = () => {
      const aborted = signals.find((one) => one.aborted);
      if (!aborted) return;
      due = true; // the next run has its turn
      throw reasonOf(aborted);
    };
    /** @param {readonly any[]} results */
    const compare = async (results) => {
      const wanted = await running;
      check();
      const given = Object.fromEntries(outputs.map(({ name }, i) => [name, results[i]]));
      const compared = await compareOutputs(outputs, tolerance, given, wanted, () => reference.run(changed));
      check();
      verified.runs++;
      verified.largest = Math.max(verified.largest, ...compared.map(({ apart }) => apart));
      const [worst] = compared.filter(isWrong).sort((a, b) => b.apart - a.apart);
      if (!worst) return;
      due = true; // nothing wrong is given out, as long as runs are wrong
      const much = `${worst.apart.toPrecision(2)} of the largest value`;
      throw new RunError(
        'wrong-results',
        `output ${JSON.stringify(worst.name)} is wrong on ${backend} (${adapter}): it differs from that of wasm by ${much}, ` +
          `and ${worst.most.toPrecision(2)} is allowed; load with { backend: 'wasm' }`,
      );
    };
    return async (results) => {
      check();
      await unlessAborted(compare(results), signals, () => {});
    };
  };
}
