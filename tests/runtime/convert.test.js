import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromHalf, narrow, toHalf, widen, widenHalves, words } from '../../runtime-js/values/convert.js';

/** Through a device's words and back. */
const roundTrip = (dtype, device, array) => {
  const target = words(device, array.length);
  widen(dtype, array, target, 'x');
  return narrow(dtype, target);
};

test('every type comes back', () => {
  for (const [dtype, device, array] of [
    ['float32', 'float32', Float32Array.of(1.5, -0, Infinity)],
    ['float16', 'float32', Uint16Array.of(0x3800, 0xc000, 0x0001, 0x7c00)],
    ['int8', 'int32', Int8Array.of(-128, 0, 127)],
    ['uint8', 'int32', Uint8Array.of(0, 128, 255)],
    ['int16', 'int32', Int16Array.of(-32768, 32767)],
    ['uint16', 'int32', Uint16Array.of(0, 65535)],
    ['int32', 'int32', Int32Array.of(-(2 ** 31), 2 ** 31 - 1)],
    ['uint32', 'uint32', Uint32Array.of(0, 2 ** 32 - 1)],
    ['int64', 'int32', BigInt64Array.of(-(2n ** 31n), -1n, 0n, 2n ** 31n - 1n)],
    ['uint64', 'uint32', BigUint64Array.of(0n, 2n ** 32n - 1n)],
  ]) {
    const back = roundTrip(dtype, device, array);
    assert.equal(back.constructor, array.constructor, dtype);
    assert.deepEqual(Array.from(back, String), Array.from(array, String), dtype);
  }
});

test('bool is 0 or 1', () => {
  assert.deepEqual([...roundTrip('bool', 'int32', Uint8Array.of(0, 1, 200))], [0, 1, 1]);
});

test('bytes that begin anywhere', () => {
  const bytes = Uint8Array.of(9, 0, 0, 128, 63, 0, 0, 0, 64);
  const target = words('float32', 2);
  widen('float32', bytes.subarray(1), target, 'x');
  assert.deepEqual([...target], [1, 2]);
});

test('a wide integer that does not fit is named', () => {
  for (const big of [2n ** 31n, -(2n ** 31n) - 1n, 2n ** 40n]) {
    assert.throws(
      () => widen('int64', BigInt64Array.of(1n, big), words('int32', 2), "input 'ids'"),
      (error) => error instanceof RangeError && error.message.startsWith(`input 'ids': element 1 is ${big}, which`),
    );
  }
});

test('half floats: all bits, and ties to even', () => {
  for (let half = 0; half < 65536; half++) {
    const value = fromHalf(half);
    if (Number.isNaN(value)) assert.equal(toHalf(value) & 0x7fff, 0x7e00);
    else assert.equal(toHalf(value), half);
  }
  assert.equal(toHalf(1 + 2 ** -11), 0x3c00);
  assert.equal(toHalf(1 + 3 * 2 ** -11), 0x3c02);
  assert.equal(toHalf(2 ** -25), 0);
  assert.equal(toHalf(3 * 2 ** -25), 2);
  assert.equal(toHalf(65519), 0x7bff);
  assert.equal(toHalf(65520), 0x7c00);
  assert.equal(toHalf(2047.5), 0x6800);
});

test('many halves are widened like few', () => {
  const all = Uint16Array.from({ length: 65536 }, (_, half) => half);
  const singles = new Float32Array(all.length);
  widenHalves(all, singles);
  assert.deepEqual(singles, Float32Array.from(all, fromHalf));
});
