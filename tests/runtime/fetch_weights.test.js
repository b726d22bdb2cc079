import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { collectRanges, fetchWeights } from '../../runtime-js/fetch/fetch_weights.js';
import { watchDownloads } from '../../runtime-js/fetch/watch_downloads.js';

const ALL = Uint8Array.from({ length: 100 }, (_, i) => i * 7);
const SHARDS = Array.from({ length: 10 }, (_, i) => ({ offset: i * 10, bytes: 10 }));
const file = ({ offset, bytes }) => ALL.subarray(offset, offset + bytes);

test('ranges come whole, each once, whatever the order of the shards', () => {
  const ranges = [
    { offset: 0, bytes: 5 }, // within a shard
    { offset: 5, bytes: 32 }, // over four
    { offset: 40, bytes: 10 }, // one
    { offset: 48, bytes: 52 }, // overlapping, up to the end
  ];
  for (const order of [
    SHARDS,
    SHARDS.toReversed(),
    [...SHARDS].sort((a, b) => ((a.offset * 3) % 70) - ((b.offset * 3) % 70)),
  ]) {
    const got = ranges.map(() => []);
    const collect = collectRanges(ranges, (i, bytes) => got[i].push(bytes));
    for (const shard of order) collect(shard, file(shard));
    ranges.forEach((range, i) => {
      assert.equal(got[i].length, 1);
      assert.equal(got[i][0].byteLength % 4, 0);
      assert.deepEqual(got[i][0].subarray(0, range.bytes), file(range));
      assert.ok(got[i][0].subarray(range.bytes).every((byte) => byte === 0));
      assert.equal(got[i][0].buffer.byteLength, got[i][0].byteLength);
    });
  }
});

test('a range is given as soon as it is whole', () => {
  const got = [];
  const collect = collectRanges(
    [
      { offset: 0, bytes: 20 },
      { offset: 20, bytes: 10 },
    ],
    (i) => got.push(i),
  );
  collect(SHARDS[2], file(SHARDS[2]));
  assert.deepEqual(got, [1]);
  collect(SHARDS[0], file(SHARDS[0]));
  collect(SHARDS[1], file(SHARDS[1]));
  assert.deepEqual(got, [1, 0]);
});

test('shards arrive in the order of the weights, few at a time, and are passed on at once', async () => {
  const specs = SHARDS.map((shard) => ({
    ...shard,
    url: `data:;base64,${Buffer.from(file(shard)).toString('base64')}`,
    sha256: createHash('sha256').update(file(shard)).digest('hex'),
  }));
  const [rooms, progress, got] = [[], [], new Uint8Array(100)];
  let most = 0;
  await fetchWeights(
    specs,
    ({ bytes }, i) => {
      rooms.push(i);
      most = Math.max(most, rooms.length - progress.length);
      return new Uint8Array(bytes);
    },
    ({ offset }, bytes, i) => {
      assert.equal(offset, i * 10);
      got.set(bytes, offset);
    },
    (now) => progress.push(now),
    watchDownloads(),
  );
  assert.deepEqual(rooms, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(most, 2);
  assert.deepEqual(got, ALL);
  assert.deepEqual(progress.at(-1), { phase: 'weights', loaded: 100, total: 100 });
});
