// Values made from a seed, those of compiler/values/seeded.py.

import { elementOf, lengthOf, typedArray } from '../values/dtypes.js';
import { wordOf } from '../values/seeded_word.js';

/** @typedef {import('../model.js').TypedArray} TypedArray */

/** @type {Readonly<Record<string, (word: number) => number>>} */
const floats = {
  float16: (word) => 0x3800 | (word >>> 22) | ((word & 1) << 15), // the bits of one
  float32: (word) => (word >>> 8) / 2 ** 23 - 1,
  float64: (word) => (word >>> 8) / 2 ** 23 - 1,
};

/**
 * @param {string} dtype
 * @param {readonly number[]} shape
 * @param {number} seed
 * @param {readonly [number, number]} [within] of integers, the least and how many; without it words of pixels
 */
export function seededValues(dtype, shape, seed, within) {
  const array = typedArray(dtype, new ArrayBuffer(lengthOf(shape) * elementOf(dtype).bytes));
  const [least, count] = within ?? [0, 2 ** 32];
  const value = floats[dtype] ?? ((/** @type {number} */ word) => least + (word % count));
  const isLong = array instanceof BigInt64Array || array instanceof BigUint64Array;
  for (let i = 0; i < array.length; i++) {
    const one = value(wordOf(i, seed));
    array[i] = isLong ? BigInt(one) : one;
  }
  return array;
}
