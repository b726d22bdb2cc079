import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largestDifference, numbersOf } from '../../runtime-js/values/compare_results.js';

const specs = [{ name: 'y', dtype: 'float32' }];
const difference = (got, want) => largestDifference({ y: got }, { y: want }, specs);

test('differences are relative to the largest value, and at least to 1', () => {
  assert.equal(difference(Float32Array.of(8, -15), Float32Array.of(8, -16)), 1 / 16);
  assert.equal(difference(Float32Array.of(0.5), Float32Array.of(0.25)), 0.25);
  assert.equal(difference(BigInt64Array.of(7n), BigInt64Array.of(5n)), 0.4);
});

test('but at least to less, where a caller says so', () => {
  const [got, want] = [{ y: Float32Array.of(0.02, 0.01) }, { y: Float32Array.of(0.02, 0.02) }];
  assert.equal(largestDifference(got, want, specs, 0).toFixed(6), '0.500000');
  assert.equal(largestDifference({ y: Float32Array.of(0.5) }, { y: Float32Array.of(0) }, specs, 0), 0.5);
});

test('no number differs from numbers alone', () => {
  const { NaN: none, POSITIVE_INFINITY: most } = Number;
  assert.equal(difference(Float32Array.of(none, most), Float32Array.of(none, most)), 0);
  assert.equal(difference(Float32Array.of(none, 1), Float32Array.of(1, 1)), most);
  assert.equal(difference(Float32Array.of(1), Float32Array.of(1, 1)), most);
});

test('halves are numbers where the platform has them as bits', () => {
  const bits = Uint16Array.of(0x3c00, 0xc000, 1, 0x7bff, 0x7c00, 0x7e00);
  const numbers = [1, -2, 2 ** -24, 65504, Number.POSITIVE_INFINITY, Number.NaN];
  assert.deepEqual(numbersOf(bits, 'float16'), numbers);
  assert.deepEqual(numbersOf(Uint16Array.of(1), 'uint16'), [1]);
});

test('of answers with scores these count', () => {
  const classes = [
    { label: 'a', index: 3, score: 0.5 },
    { label: 'b', index: 1, score: 0.25, box: { x: 4 } },
  ];
  assert.deepEqual(numbersOf(classes), [0.5, 0.25]);
  assert.deepEqual(numbersOf({ width: 1, data: Uint8Array.of(9) }), [1, 9]);
});

test('text counts by its letters, alone and in lists', () => {
  assert.deepEqual(numbersOf('ab'), [97, 98]);
  assert.deepEqual(numbersOf(['a', '🍕']), [97, 0x1f355]);
  assert.equal(largestDifference({ y: 'ab' }, { y: 'abc' }, [{ name: 'y' }]), Number.POSITIVE_INFINITY);
});
