// The weights, in shards: each goes where it belongs as soon as it is there and checked.
import { fetchFile } from './fetch_file.js';

/** @typedef {import('./fetch_file.js').FileSpec & { offset: number }} Shard `offset`: bytes into the weights */
/** @typedef {{ offset: number, bytes: number }} Range bytes of the weights */

/** One shard arrives while the next is asked for; what is on its way is lost with the page, and takes memory. */
const AT_ONCE = 2;

/**
 * @param {readonly Shard[]} shards
 * @param {(shard: Shard, index: number) => Uint8Array<ArrayBufferLike>} roomFor where a shard goes
 * @param {(shard: Shard, file: Uint8Array<ArrayBufferLike>, index: number) => void} onShard
 * @param {(progress: import('../model.js').Progress) => void} onProgress
 * @param {import('./watch_downloads.js').Downloads} downloads
 */
export async function fetchWeights(shards, roomFor, onShard, onProgress, downloads) {
  const total = shards.reduce((sum, { bytes }) => sum + bytes, 0);
  let loaded = 0;
  const onBytes = (/** @type {number} */ bytes) => {
    loaded += bytes;
    onProgress({ phase: 'weights', loaded, total });
  };
  const rest = shards.entries();
  let failed = false;
  const receive = async () => {
    for (const [i, shard] of rest) {
      const file = roomFor(shard, i);
      await fetchFile(shard, file, onBytes, downloads).catch((error) => {
        failed = true;
        throw error;
      });
      if (failed) return; // nothing more is asked for
      onShard(shard, file, i);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, receive));
}

/**
 * A function that takes shards in any order, and gives each range in memory of its own once all of it is there. The memory
 * is longer by up to 3 zeros, so that words of 4 bytes cover the range.
 * @param {readonly Range[]} ranges
 * @param {(index: number, bytes: Uint8Array<ArrayBuffer>) => void} onRange
 * @returns {(shard: Range, file: Uint8Array<ArrayBufferLike>) => void}
 */
export function collectRanges(ranges, onRange) {
  const open = ranges.map(({ offset, bytes }) => ({
    ...{ offset, end: offset + bytes, missing: bytes },
    room: /** @type {Uint8Array<ArrayBuffer> | undefined} */ (undefined),
  }));
  return (shard, file) => {
    open.forEach((range, i) => {
      const from = Math.max(range.offset, shard.offset);
      const to = Math.min(range.end, shard.offset + shard.bytes);
      if (from >= to) return;
      range.room ??= new Uint8Array(Math.ceil((range.end - range.offset) / 4) * 4);
      range.room.set(file.subarray(from - shard.offset, to - shard.offset), from - range.offset);
      range.missing -= to - from;
      if (range.missing) return;
      const { room } = range;
      range.room = undefined;
      onRange(i, room);
    });
  };
}
