import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { checkInputs } from '../../runtime-js/values/check_inputs.js';
import { checkInto } from '../../runtime-js/values/into.js';

const specs = [
  { name: 'image', dtype: 'uint8', shape: [2, 2] },
  { name: 'scale', dtype: 'float32', shape: [] },
];
const image = new Uint8ClampedArray(4);
const scale = Float32Array.of(1);

test('arrays come in the order of the model, not of the caller', () => {
  assert.deepEqual(checkInputs(specs, { scale, image }).values, [image, scale]);
});

test('an array of another window is as good', () => {
  const other = vm.runInNewContext('Float32Array.of(1)');
  assert.ok(!(other instanceof Float32Array));
  assert.equal(checkInputs(specs, { image, scale: other }).values[1], other);
});

test('an inherited property is no input', () => {
  assert.throws(() => checkInputs(specs, Object.create({ image, scale })), {
    name: 'TypeError',
    message: 'input "image" is missing; expected a Uint8Array or Uint8ClampedArray of length 4 (uint8, shape [2, 2])',
  });
});

test('an unknown name lists those that there are', () => {
  assert.throws(() => checkInputs(specs, { image, scale, Scale: scale }), {
    name: 'TypeError',
    message:
      'the model has no input "Scale"; inputs: "image": a Uint8Array or Uint8ClampedArray of length 4 (uint8, shape [2, 2]); ' +
      '"scale": a Float32Array of length 1 (float32, shape [])',
  });
});

test('an article is that of the first array', () => {
  const one = [{ name: 'ids', dtype: 'int32', shape: [2] }];
  assert.throws(
    () => checkInputs(one, { ids: [1, 2] }),
    /expected an Int32Array of length 2 \(int32, shape \[2\]\), got a plain/,
  );
  assert.throws(() => checkInto(one, { ids: image }), /output "ids" needs an Int32Array, got Uint8ClampedArray$/);
});

test('a scalar is an array of one', () => {
  assert.throws(() => checkInputs(specs, { image, scale: 1 }), {
    name: 'TypeError',
    message: 'input "scale": expected a Float32Array of length 1 (float32, shape []), got number',
  });
});

test('a DataView and an ArrayBuffer are refused', () => {
  assert.throws(() => checkInputs(specs, { image: new DataView(new ArrayBuffer(4)), scale }), /got DataView$/);
  assert.throws(() => checkInputs(specs, { image: new ArrayBuffer(4), scale }), /got ArrayBuffer$/);
});

test('a model without inputs takes an empty object', () => {
  assert.deepEqual(checkInputs([], {}), { values: [], scalars: [] });
  assert.throws(() => checkInputs([], { x: 1 }), /the model has no input "x"; inputs: none$/);
});

test('what only says that it is an array, or is on the device, is an object', () => {
  for (const tag of ['Float32Array', 'ImageBitmap', 'GPUBuffer']) {
    const pretender = { [Symbol.toStringTag]: tag, length: 1, size: 4, usage: 255, width: 1, height: 1 };
    assert.throws(() => checkInputs(specs, { image, scale: pretender }, { backend: 'webgpu', worker: false }), {
      name: 'TypeError',
      message: 'input "scale": expected a Float32Array of length 1 (float32, shape []), got an object',
    });
  }
});

test('an array without its buffer says so, and is not taken for one of no elements', () => {
  const empty = [{ name: 'x', dtype: 'int64', shape: [0] }];
  const lost = new BigInt64Array(4);
  structuredClone(lost, { transfer: [lost.buffer] });
  const message = 'input "x": expected a BigInt64Array of length 0 (int64, shape [0]), got a detached array';
  assert.throws(() => checkInputs(empty, { x: lost }), { name: 'TypeError', message });
  assert.throws(() => checkInputs(empty, { x: { data: lost, shape: [0] } }), { name: 'TypeError', message });
  assert.equal(checkInputs(empty, { x: new BigInt64Array(0) }).values.length, 1);
});
