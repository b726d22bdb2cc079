import assert from 'node:assert/strict';
import { test } from 'node:test';
import { numbersIn, storedIn } from '../../runtime-js/values/halves.js';

test('numbers are rounded as kernels store them: what is finite stays so', () => {
  const numbers = Float32Array.of(1 / 3, 1e6, -1e6, Infinity, -Infinity, Number.NaN, 1e-9, 65519);
  const stored = storedIn('float16', numbers);
  assert.ok(stored instanceof Uint16Array);
  const found = Array.from(numbersIn('float16', stored));
  assert.deepEqual(found, [0.333251953125, 65504, -65504, Infinity, -Infinity, Number.NaN, 0, 65504]);
  assert.deepEqual(storedIn('float16', numbersIn('float16', stored)), stored);
});

test('other storages have the same array', () => {
  for (const [dtype, array] of [
    ['float32', Float32Array.of(1e6)],
    ['int32', Int32Array.of(1e6)],
  ]) {
    assert.equal(numbersIn(dtype, array), array);
    assert.equal(storedIn(dtype, array), array);
  }
});
