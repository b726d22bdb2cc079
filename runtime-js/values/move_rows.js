// Rows of an array that is laid out for its largest shape.
import { lengthOf } from './dtypes.js';

/**
 * Moves the last rows to where the first ones are, along the one axis in which two shapes differ.
 * @param {{ copyWithin: (to: number, from: number, end: number) => unknown }} array
 * @param {number} element its length
 * @param {readonly number[]} extents of the memory
 * @param {readonly number[]} from the shape of what is there
 * @param {readonly number[]} to that of what stays
 */
export function moveRows(array, element, extents, from, to) {
  const axis = from.findIndex((n, i) => n !== to[i]);
  if (axis < 0) return;
  const row = element * lengthOf(extents.slice(axis + 1));
  const [there, stay] = [Number(from[axis]), Number(to[axis])];
  for (let i = lengthOf(extents.slice(0, axis)) - 1; i >= 0; i--) {
    const first = i * Number(extents[axis]);
    array.copyWithin(first * row, (first + there - stay) * row, (first + there) * row);
  }
}
