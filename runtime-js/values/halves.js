// Numbers of storages that hold them as float16.
import { narrow, widenHalves } from './convert.js';

/** @typedef {import('./convert.js').Words} Words */

/** The largest float16. */
const LARGEST = 65504;

/** The number as kernels store it as float16, but for rounding: what is finite stays so. */
export const saturated = (/** @type {number} */ x) =>
  Math.abs(x) > LARGEST && Number.isFinite(x) ? Math.sign(x) * LARGEST : x;

/**
 * Numbers of a storage: the same array where it has no halves.
 * @param {string} dtype of the storage
 * @param {Words} content
 * @returns {Words}
 */
export function numbersIn(dtype, content) {
  if (dtype !== 'float16') return content;
  const numbers = new Float32Array(content.length);
  widenHalves(/** @type {Uint16Array} */ (content), numbers);
  return numbers;
}

/**
 * The inverse: numbers as a storage has them, rounded where it has halves.
 * @param {string} dtype of the storage
 * @param {Words} numbers
 * @returns {Words}
 */
export const storedIn = (dtype, numbers) =>
  dtype === 'float16' ? /** @type {Uint16Array<ArrayBuffer>} */ (narrow(dtype, numbers.map(saturated))) : numbers;
