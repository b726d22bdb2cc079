// Outputs of one backend, held against those of another one, as far as the last digits of inputs determine them.
import { largestDifference } from '../values/compare_results.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/**
 * @typedef {object} Apart An output, how far it is from the one that is wanted, and the most that is allowed, relative to the
 *   largest value of the output, or to the largest one `of` others.
 * @property {string} name
 * @property {number} apart
 * @property {number} most
 * @property {string} [of]
 * @property {string} [kind] where it is no output
 */

/** Differences up to this multiple of what the last digits of inputs or operands change are allowed, as in the self-test. */
export const CONDITION = 4;

/** The tolerance of models in which a rounding moves a whole step: `HALF_TOLERANCE` of the compiler. */
export const COARSE = 2e-2;

/**
 * How far each output is from the one that is wanted, and the most that is allowed.
 * @param {readonly { name: string, dtype: string }[]} outputs
 * @param {number | undefined} tolerance
 * @param {Record<string, any>} given
 * @param {Record<string, any>} wanted
 * @param {() => Promise<Record<string, any>>} rerun outputs as wanted, of inputs with other last digits
 * @param {typeof largestDifference} [difference]
 * @returns {Promise<Apart[]>}
 */
export async function compareOutputs(
  outputs,
  tolerance = COARSE,
  given,
  wanted,
  rerun,
  difference = largestDifference,
) {
  const compared = outputs.map((spec) => ({
    ...spec,
    apart: difference(given, wanted, [spec], 0),
    most: spec.dtype.startsWith('float') ? tolerance : 0,
  }));
  if (compared.some(isWrong)) {
    const near = await rerun();
    for (const one of compared) one.most = Math.max(one.most, CONDITION * difference(near, wanted, [one], 0));
  }
  return compared;
}

export const isWrong = (/** @type {{ apart: number, most: number }} */ { apart, most }) => !(apart <= most);

/**
 * Copies of inputs whose floats differ in their last digits; what is no array stays.
 * @param {any} values
 * @param {number} [tolerance] of results: a coarse one is of those by float16, whose digits these are then
 */
export function withOtherDigits(values, tolerance = COARSE) {
  const step = tolerance >= COARSE ? 2 ** -12 : 2 ** -23;
  const changed = (/** @type {any} */ array) =>
    array instanceof Float32Array || array instanceof Float64Array
      ? array.map((x, i) => x + (i & 1 ? -step : step) * x)
      : (array?.slice?.() ?? array);
  return Object.fromEntries(
    Object.entries(values ?? {}).map(([name, one]) => [
      name,
      ArrayBuffer.isView(one)
        ? changed(one)
        : ArrayBuffer.isView(one?.data) && one.shape
          ? { ...one, data: changed(one.data) }
          : one,
    ]),
  );
}
