// How far what a device computed may be from a reference's result.
import { wordOf } from '../values/seeded_word.js';
import { CONDITION } from './compare_outputs.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../device/reference_kernels.js').Computed} Computed */
/** @typedef {import('../device/reference_kernels.js').Reference} Reference */

/** Floats from this on stand for infinity: drivers read the text of the largest float as such. */
const HUGE = 1e30;

/** Magnitudes that are so many times as large as small ones say nothing of these: a mask of attention is -10000. */
const MASK = 1e3;

/** Magnitudes that are looked at to find the small ones. */
const SAMPLE = 1024;

/** Operands are moved by this part of themselves, to see how much a kernel amplifies a device's rounding. */
const MOVED = 2 ** -20;

/**
 * @param {Reference} reference
 * @param {readonly Words[]} numbers operands, and what the result's memory had
 * @param {readonly number[]} scalars
 * @param {Computed} expected
 * @param {Words} found what the device's storage of the result has
 * @param {boolean} isBool of the result
 * @returns {{ apart: number, allowed: number }} floats relative to the largest magnitude, integers as steps
 */
export function judge(reference, numbers, scalars, expected, found, isBool) {
  const { tolerance } = reference;
  const { result, at, places } = expected;
  const difference = result instanceof Float32Array ? relativeTo(scaleOf(expected)) : steps;
  /** @type {(other: (place: number, element: number) => number) => number} */
  const furthest = (other) => {
    let most = 0;
    for (let place = 0; place < places; place++) {
      const element = at(place);
      if (element >= 0) most = Math.max(most, difference(other(place, element), Number(result[element])));
    }
    return most;
  };
  const apart = furthest((place) => Number(found[place]));
  let allowed = result instanceof Float32Array ? tolerance : tolerance && !isBool ? 1 : 0;
  if (!(apart <= allowed) && tolerance) {
    for (const sign of [1, -1]) {
      const near = reference.compute(
        numbers.map((operand, i) => (i < numbers.length - 1 ? moved(operand, i, sign) : operand)),
        scalars,
      );
      allowed = Math.max(allowed, CONDITION * furthest((_, element) => Number(near.result[element])));
    }
  }
  return { apart, allowed };
}

/** @type {(found: number, expected: number) => number} */
const steps = (found, expected) => Math.abs(found - expected);

/** @type {(scale: number) => typeof steps} */
const relativeTo = (scale) => (found, expected) => {
  if (Object.is(found, expected)) return 0;
  if (Number.isNaN(found) || Number.isNaN(expected)) return Number.POSITIVE_INFINITY;
  const [a, b] = [limited(found), limited(expected)];
  return a === b ? 0 : Math.abs(a - b) / (Math.max(scale, Math.abs(b)) || 1);
};

const limited = (/** @type {number} */ x) => Math.max(-HUGE, Math.min(HUGE, x));

/**
 * The largest magnitude of a result, without those that are out of all proportion to small ones.
 * @param {Computed} computed
 */
function scaleOf({ result, at, places }) {
  const magnitudes = [];
  const stride = Math.ceil(places / SAMPLE);
  /** @type {(place: number) => number} */
  const magnitude = (place) => {
    const element = at(place);
    const size = element < 0 ? 0 : Math.abs(Number(result[element]));
    return size < HUGE ? size : 0; // of NaN, too
  };
  for (let place = 0; place < places; place += stride) if (magnitude(place)) magnitudes.push(magnitude(place));
  magnitudes.sort((a, b) => a - b);
  const small = magnitudes[Math.floor(magnitudes.length / 10)] ?? HUGE;
  let most = 0;
  for (let place = 0; place < places; place++) {
    const size = magnitude(place);
    if (size <= MASK * small) most = Math.max(most, size);
  }
  return most;
}

/**
 * An operand whose floats are a little larger or smaller.
 * @param {Words} operand
 * @param {number} number
 * @param {number} sign
 */
function moved(operand, number, sign) {
  if (!(operand instanceof Float32Array)) return operand;
  return operand.map((x, i) => x * (1 + (wordOf(i, number) & 1 ? sign : -sign) * MOVED));
}
