// Weights that are float16 in the file and float32 in memory, where their parts are in the same order.
import { widenHalves } from '../values/convert.js';

/** @typedef {[offset: number, bytes: number]} Range of the file */
/** @typedef {{ offset: number, bytes: number }} Shard */
/** @typedef {{ half: boolean, from: number, to: number, place: number }} Piece bytes of the file; bytes into memory */

/**
 * The parts of a shard, by how they get into memory, as far as they are within the first `limit` bytes of the weights there.
 * `halves` do not overlap and are in order.
 * @param {Shard} shard
 * @param {Range[]} halves
 * @param {number} [limit]
 */
export function piecesOf({ offset, bytes }, halves, limit = Number.POSITIVE_INFINITY) {
  const end = offset + bytes;
  /** @type {Piece[]} */
  const pieces = [];
  let at = offset;
  let wider = 0; // bytes that memory has more than the file, up to here
  const add = (/** @type {number} */ to, /** @type {boolean} */ half) => {
    const place = at + wider;
    const within = Math.min(to, at + Math.ceil((limit - place) / (half ? 2 : 1)));
    if (within > at) pieces.push({ half, from: at - offset, to: within - offset, place });
    at = Math.max(at, to);
  };
  for (const [from, size] of halves) {
    if (from >= end) break;
    add(Math.min(from, end), false);
    wider += Math.min(Math.max(at - from, 0), size);
    const start = at;
    add(Math.min(from + size, end), true);
    wider += at - start;
  }
  add(end, false);
  return pieces;
}

/**
 * @param {Uint8Array<ArrayBufferLike>} file a shard, from the beginning of a buffer
 * @param {Piece[]} pieces
 * @param {ArrayBufferLike} memory
 * @param {number} base byte address of the weights
 */
export function fillWeights(file, pieces, memory, base) {
  for (const { half, from, to, place } of pieces) {
    if (half) {
      const count = (to - from) / 2;
      widenHalves(new Uint16Array(file.buffer, from, count), new Float32Array(memory, base + place, count));
    } else new Uint8Array(memory, base + place, to - from).set(file.subarray(from, to));
  }
}
