// Between an array of a run's own shape and memory that is laid out for the largest one, both row-major.
import { lengthOf } from './dtypes.js';

/**
 * Calls `copy` with each run of elements that is contiguous in both: where it begins in the array, where in memory, and
 * how long it is.
 * @param {readonly number[]} extents of the memory
 * @param {readonly number[]} shape of the array
 * @param {(dense: number, spaced: number, length: number) => void} copy
 */
export function eachRun(extents, shape, copy) {
  if (shape.includes(0)) return;
  // The dimensions behind the last one that is shorter are contiguous, and so is that one itself.
  let inner = Math.max(shape.length - 1, 0);
  while (inner && shape[inner] === extents[inner]) inner--;
  const length = lengthOf(shape.slice(inner));
  const pitches = shape.map((_, axis) => lengthOf(extents.slice(axis + 1)));
  let dense = 0;
  /** @type {(axis: number, spaced: number) => void} */
  const visit = (axis, spaced) => {
    if (axis === inner) {
      copy(dense, spaced, length);
      dense += length;
      return;
    }
    const count = Number(shape[axis]);
    for (let i = 0; i < count; i++) visit(axis + 1, spaced + i * Number(pitches[axis]));
  };
  visit(0, 0);
}

/**
 * The runs of `eachRun` as a list.
 * @param {readonly number[]} extents
 * @param {readonly number[]} shape
 */
export function runsOf(extents, shape) {
  /** @type {{ dense: number, spaced: number, length: number }[]} */
  const runs = [];
  eachRun(extents, shape, (dense, spaced, length) => {
    runs.push({ dense, spaced, length });
  });
  return runs;
}

/** @param {readonly { spaced: number, length: number }[]} runs how far they reach in memory */
export const reachOf = (runs) => {
  const last = runs[runs.length - 1];
  return last ? last.spaced + last.length : 0;
};
