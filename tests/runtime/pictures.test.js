// Pictures as words: reduced as Pillow does, read from arrays, refused with what is expected.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pictures, reduced } from '../../runtime-js/values/pictures.js';

const spec = [{ name: 'image', dtype: 'int32', shape: [], picture: 4 }];

/** Inputs as a run gets them. @param {any} inputs */
const taken = (inputs) => pictures.using(spec, inputs, async (given) => given, false);

/** @param {number[][]} colours red, green, blue and alpha of each pixel */
const words = (colours) => new Int32Array(Uint8Array.from(colours.flat()).buffer);

/** @param {Int32Array} data */
const colours = (data) => [...new Uint8Array(data.buffer)];

test('a picture that is small enough is taken as it is', () => {
  const given = { data: new Int32Array(12), shape: [3, 4] };
  assert.deepEqual(reduced(given, 4), given);
  assert.equal(reduced(given, 4).data, given.data);
});

test('a larger one is reduced to the means of squares, the last of which may be cut', () => {
  const row = [
    [0, 10, 255, 9],
    [10, 20, 255, 9],
    [100, 1, 0, 9],
    [101, 2, 1, 9],
    [7, 77, 200, 9],
  ];
  const { data, shape } = reduced({ data: words([...row, ...row]), shape: [2, 5] }, 4);
  assert.deepEqual(shape, [1, 3]);
  // Halves are rounded up.
  assert.deepEqual(colours(data), [5, 15, 255, 255, 101, 2, 1, 255, 7, 77, 200, 255]);
});

test('means are rounded as Pillow rounds them: exact thirds to the number below', () => {
  const three = Array.from({ length: 9 }, () => [6, 7, 8, 255]);
  const { data } = reduced({ data: words(three), shape: [3, 3] }, 1);
  assert.deepEqual(colours(data), [6, 7, 8, 255]);
  const half = three.map(([r, g, b], i) => [Number(r) + Number(i < 5), Number(g), Number(b), 255]); // (9 * 6 + 5 + 4) / 9 = 7
  assert.deepEqual(colours(reduced({ data: words(half), shape: [3, 3] }, 1).data), [6, 7, 8, 255]);
});

test('arrays of bytes and of words', async () => {
  const data = Uint8ClampedArray.from([1, 2, 3, 4, 5, 6, 7, 8]);
  const { image } = await taken({ image: { data, shape: [1, 2] }, other: 1 });
  assert.deepEqual([...image.data], [0x04030201, 0x08070605]);
  assert.deepEqual(image.shape, [1, 2]);
  const odd = new Uint8Array([0, ...data]).subarray(1); // no multiple of four bytes from the beginning of its buffer
  assert.deepEqual([...(await taken({ image: { data: odd, shape: [1, 2] } })).image.data], [...image.data]);
});

test('inputs that are no pictures, and no objects, are left to others', async () => {
  const inputs = { other: 3 };
  assert.deepEqual(await taken(inputs), inputs);
  assert.equal(await taken(3), 3);
});

for (const [what, value, expected] of /** @type {[string, any, RegExp][]} */ ([
  ['a number', 3, /^input "image": expected a picture \(ImageData, .*Blob\), or \{ data, shape.*got number$/],
  ['an array alone', new Uint8Array(4), /got Uint8Array$/],
  [
    'no shape',
    { data: new Uint8Array(4) },
    /its shape must be \[height, width\], of four bytes a pixel; got 4 bytes for \[\]$/,
  ],
  ['another shape', { data: new Uint8Array(7), shape: [1, 2] }, /; got 7 bytes for \[1, 2\]$/],
  ['no pixels', { data: new Uint8Array(0), shape: [0, 0] }, /its shape must be/],
]))
  test(`refused: ${what}`, async () => {
    await assert.rejects(() => taken({ image: value }), { name: 'TypeError', message: expected });
  });
