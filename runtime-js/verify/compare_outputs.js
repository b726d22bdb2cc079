// Outputs of one backend, held against those of another one, as far as the last digits of inputs determine them.
import { largestDifference, numbersOf } from '../values/compare_results.js';

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

/** Root mean squares of many differences up to this multiple are allowed: they vary less. */
export const MEANS = 2;

/** The tolerance of models in which a rounding moves a whole step: `HALF_TOLERANCE` of the compiler. */
export const COARSE = 2e-2;

/**
 * The part of themselves by which floats are moved to see how much roundings change results: by their last digits, or by as much as
 * moves some by a step. How many move matters little then, as the first one moves others behind it.
 */
const stepOf = (tolerance = COARSE) => (tolerance < COARSE ? 2 ** -23 : 2 ** -10);

/**
 * How far each output is from the one that is wanted, and the most that is allowed.
 * @param {readonly { name: string, dtype: string }[]} outputs
 * @param {number | undefined} tolerance
 * @param {Record<string, any>} given
 * @param {Record<string, any>} wanted
 * @param {() => Promise<Record<string, any>>} rerun outputs as wanted, of inputs with other digits
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
    for (const one of compared.filter(isWrong)) {
      // Where a rounding moves a whole step, largest differences vary more from run to run than their means do; but few large ones
      // hardly change these.
      let allowed = CONDITION * difference(near, wanted, [one], 0);
      if (tolerance >= COARSE && Number.isFinite(one.apart)) {
        const times = MEANS + (CONDITION - MEANS) / Math.sqrt(numbersOf(wanted[one.name], one.dtype).length);
        const means = meanDifference(near, wanted, one) / meanDifference(given, wanted, one);
        allowed = Math.min(allowed, one.apart * times * means);
      }
      one.most = Math.max(one.most, allowed);
    }
  }
  return compared;
}

/** @typedef {{ name: string, dtype: string }} Spec */

/**
 * The root mean square of an output's differences.
 * @type {(given: Record<string, any>, wanted: Record<string, any>, spec: Spec) => number}
 */
function meanDifference(given, wanted, { name, dtype }) {
  const own = numbersOf(given[name], dtype);
  const squares = numbersOf(wanted[name], dtype).map((want, i) =>
    Object.is(own[i], want) ? 0 : (Number(own[i]) - want) ** 2,
  );
  const mean = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / squares.length);
  return Number.isNaN(mean) ? Number.POSITIVE_INFINITY : mean;
}

export const isWrong = (/** @type {{ apart: number, most: number }} */ { apart, most }) => !(apart <= most);

/**
 * Copies of inputs whose floats differ as `stepOf` says; what is no array stays.
 * @param {any} values
 * @param {number} [tolerance] of results
 */
export function withOtherDigits(values, tolerance) {
  const step = stepOf(tolerance);
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
