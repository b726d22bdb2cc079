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
 * @returns {Promise<Apart[]>}
 */
export async function compareOutputs(outputs, tolerance = COARSE, given, wanted, rerun) {
  const compared = outputs.map((spec) => ({
    ...spec,
    apart: differenceOf(given[spec.name], wanted[spec.name], spec),
    most: spec.dtype.startsWith('float') ? tolerance : 0,
  }));
  if (compared.some(isWrong)) {
    const near = await rerun();
    for (const one of compared)
      one.most = Math.max(one.most, CONDITION * differenceOf(near[one.name], wanted[one.name], one));
  }
  return compared;
}

/**
 * Relative to the largest value that is wanted. Numbers of float32, as large states have them, are not copied.
 * @param {any} got
 * @param {any} wanted
 * @param {{ name: string, dtype?: string }} spec
 */
function differenceOf(got, wanted, spec) {
  const { name } = spec;
  if (!(got instanceof Float32Array && wanted instanceof Float32Array && got.length === wanted.length))
    return largestDifference({ [name]: got }, { [name]: wanted }, [spec], 0);
  let [scale, most] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    const want = Number(wanted[i]);
    if (Number.isFinite(want)) scale = Math.max(scale, Math.abs(want));
    if (!Object.is(got[i], want)) most = Math.max(most, Math.abs(Number(got[i]) - want)); // NaN stays
  }
  return Number.isNaN(most) ? Number.POSITIVE_INFINITY : most / (scale || 1);
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
