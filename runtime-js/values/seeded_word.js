// Random bits by a few operations on integers, those of compiler/values/seeded.py.

/**
 * @param {number} i number of the element
 * @param {number} seed
 * @returns {number} from 0 to 2**32 - 1
 */
export function wordOf(i, seed) {
  let x = (Math.imul(i, 0x9e3779b1) + seed) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
