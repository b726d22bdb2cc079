// Threads compute what one computes, in the memory that they share: each by itself before it waits for loops, then all in one loop.
import { afterOthers, parallelFor } from './pool.js';
import { OPERANDS_AT, STACK_BYTES } from './stacks.js';

/** @typedef {import('../model.js').CanaryInfo} CanaryInfo */

/** Elements of the module's loop `canary`, which is over 256 vectors. */
const ELEMENTS = 1024;

/** In the first ones one thread may take all chunks before the others are awake. */
const LAUNCHES = 8;

/** Number from 0 to 4095, whose square, and the sum of both, are exact in float32. */
const operand = (/** @type {number} */ i) => (i * 7919) & 4095;

const isRight = (/** @type {Float32Array} */ results) => results.every((x, i) => x === operand(i) ** 2 + operand(i));

/**
 * Operands of each thread but the first, in its stack.
 * @param {ArrayBufferLike} memory
 * @param {number} stacks byte address
 * @param {number} count
 */
export const operandsOf = (memory, stacks, count) =>
  Array.from({ length: count }, (_, i) =>
    fill(new Float32Array(memory, stacks + (i + 1) * STACK_BYTES - OPERANDS_AT, ELEMENTS)),
  );

/** @param {Float32Array} room */
function fill(room) {
  for (let i = 0; i < ELEMENTS; i++) room[i] = operand(i);
  return room;
}

/**
 * Loops of which the first thread leaves the others all that they can take.
 * @type {typeof parallelFor}
 */
export const parallelForOthers = (control, threads, chunk) =>
  parallelFor(control, threads, afterOthers(control, chunk));

/**
 * Whether threads that have started compute rightly, each of which has put results in place of its operands.
 * @param {CanaryInfo} report
 * @param {Float32Array[]} results
 * @param {((operands: number) => void) | undefined} canary of a module that has these threads
 */
export function checkThreads(report, results, canary) {
  if (!canary) return true;
  report.checked++;
  if (results.every(isRight) && areRight(/** @type {Float32Array} */ (results[0]), canary)) return true;
  report.failed.push({ kernel: 'threads', nodes: [], backend: 'wasm', action: 'one-thread' });
  console.warn('wasm gives wrong results here, by several threads: one runs instead');
  return false;
}

/** @type {(room: Float32Array, canary: (operands: number) => void) => boolean} */
function areRight(room, canary) {
  try {
    for (let launch = 0; launch < LAUNCHES; launch++) {
      canary(fill(room).byteOffset);
      if (!isRight(room)) return false;
    }
  } catch {
    return false; // one has failed
  }
  return true;
}
