import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toHalf } from '../../runtime-js/values/convert.js';
import { fillWeights, piecesOf } from '../../runtime-js/wasm/widen_weights.js';

const HALVES = [
  [64, 128],
  [256, 64],
];
const FILE = 384;

/** Expected memory: floats where the file has halves, the same bytes elsewhere. */
function expected(file) {
  const parts = [];
  for (let at = 0; at < FILE; at += 2) {
    const half = HALVES.some(([from, bytes]) => at >= from && at < from + bytes);
    parts.push(half ? new Uint8Array(Float32Array.of(at).buffer) : file.slice(at, at + 2));
  }
  return parts.flatMap((part) => [...part]);
}

test('shards of any size fill memory alike', () => {
  const file = Uint8Array.from({ length: FILE }, (_, i) => i % 251);
  const halves = new Uint16Array(file.buffer);
  for (const [from, bytes] of HALVES) for (let at = from; at < from + bytes; at += 2) halves[at / 2] = toHalf(at);
  const want = expected(file);
  for (const size of [4, 32, 64, 100, 128, 200, FILE]) {
    const memory = new Uint8Array(16 + want.length);
    for (let offset = 0; offset < FILE; offset += size) {
      const shard = file.slice(offset, offset + size);
      fillWeights(shard, piecesOf({ offset, bytes: shard.length }, HALVES), memory.buffer, 16);
    }
    assert.deepEqual([...memory.subarray(16)], want, `${size} bytes a shard`);
  }
});

test('weights without halves are one piece', () => {
  assert.deepEqual(piecesOf({ offset: 100, bytes: 60 }, []), [{ half: false, from: 0, to: 60, place: 100 }]);
  assert.deepEqual(piecesOf({ offset: 320, bytes: 64 }, HALVES), [{ half: false, from: 0, to: 64, place: 512 }]);
});

test('pieces end where the weights in memory do that are read', () => {
  const place = (limit) => piecesOf({ offset: 32, bytes: 64 }, HALVES, limit);
  assert.deepEqual(place(96), [
    { half: false, from: 0, to: 32, place: 32 },
    { half: true, from: 32, to: 48, place: 64 },
  ]);
  assert.deepEqual(place(64), [{ half: false, from: 0, to: 32, place: 32 }]);
  assert.deepEqual(place(32), []);
});
