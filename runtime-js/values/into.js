// Outputs in arrays of the caller's own, and in new ones; and whether their elements are finite.
import { arraysOf, checkNames } from './check_names.js';
import { elementOf, lengthOf, tagOf, typedArray } from './dtypes.js';
import { extentsOf, varies } from './sizes.js';

/** @typedef {import('../model.js').TypedArray} TypedArray */
/** @typedef {import('./sizes.js').Spec} Spec */
/** @typedef {readonly (TypedArray | undefined)[]} Into by output: where its elements go; nothing for a new array */

/**
 * The caller's arrays by name, in the order of the outputs.
 * @param {readonly Spec[]} specs
 * @param {unknown} into
 * @returns {Into}
 * @throws {TypeError} for another name or kind of array
 * @throws {RangeError} for one that is too short
 */
export function checkInto(specs, into) {
  if (into === undefined) return [];
  const named = /** @type {Record<string, any>} */ (into);
  checkNames(
    'into',
    into,
    specs.map(({ name }) => name),
    'output',
  );
  return specs.map((spec) => {
    const array = Object.hasOwn(named, spec.name) ? named[spec.name] : undefined;
    if (array === undefined) return undefined;
    const { arrays, bytes } = elementOf(spec.dtype);
    if (!arrays.includes(tagOf(array)))
      throw new TypeError(
        `into: output ${JSON.stringify(spec.name)} needs ${arraysOf(spec.dtype)}, got ${tagOf(array)}`,
      );
    if (!varies(spec.shape)) roomFor(spec, array, lengthOf(extentsOf(spec.shape)) * bytes);
    return array;
  });
}

/**
 * Room for an output of so many bytes: the first ones of an array, or new ones.
 * @param {Spec} spec
 * @param {TypedArray | undefined} array
 * @param {number} bytes
 */
export function roomFor({ name, dtype }, array, bytes) {
  if (!array) return new Uint8Array(bytes);
  const { buffer, byteOffset, byteLength, length } = array;
  if (byteLength >= bytes) return new Uint8Array(buffer, byteOffset, bytes);
  const needed = bytes / elementOf(dtype).bytes;
  throw new RangeError(
    `into: output ${JSON.stringify(name)} has ${needed} elements, and the array has room for ${length}`,
  );
}

/**
 * The elements in a room; they have a shape where it is not the same in every run.
 * @param {Spec} spec
 * @param {Uint8Array} room
 * @param {readonly number[]} [shape]
 */
export function resultIn({ dtype }, { buffer, byteOffset, byteLength }, shape) {
  const result = typedArray(dtype, /** @type {ArrayBuffer} */ (buffer), byteOffset, byteLength);
  return shape ? Object.assign(result, { shape }) : result;
}

/**
 * A result in the array that was given for it: all of that, or the part that this run fills.
 * @param {Spec} spec
 * @param {TypedArray} array
 * @param {TypedArray & { shape?: readonly number[] }} result
 */
export function placeIn(spec, array, result) {
  const { buffer, byteOffset, byteLength, length, shape } = result;
  const room = roomFor(spec, array, byteLength);
  if (buffer !== array.buffer) room.set(new Uint8Array(buffer, byteOffset, byteLength));
  if (shape) return Object.assign(array.subarray(0, length), { shape });
  return length === array.length ? array : array.subarray(0, length);
}

// <finite>
/**
 * Whether an array of floats has an element that is NaN or infinite; the search ends at the first.
 * @param {{ dtype: string }} spec
 * @param {any} array float16 as bits or as numbers; what is no array has no elements
 */
export function hasNonFinite({ dtype }, array) {
  const bits = array instanceof Uint16Array;
  const length = /^float/.test(dtype) && array?.length; // read once, and without a call: a nanosecond for each element
  for (let i = 0; i < length; i++) {
    const x = /** @type {number} */ (array[i]);
    if (bits ? (x & 0x7c00) === 0x7c00 : x * 0 !== 0) return true;
  }
  return false;
}
// </finite>
