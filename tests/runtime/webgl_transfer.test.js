import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rectangles, wholeRows } from '../../runtime-js/webgl/webgl_transfer.js';

test('a part of one row, whole rows, layers', () => {
  assert.deepEqual(rectangles(0), []);
  assert.deepEqual(rectangles(1), [{ width: 1, height: 1, layer: 0, bytes: 16 }]);
  assert.deepEqual(rectangles(4 * 2048), [{ width: 2048, height: 1, layer: 0, bytes: 16 * 2048 }]);
  assert.deepEqual(rectangles(4 * 2048 + 1), [{ width: 2048, height: 2, layer: 0, bytes: 32 * 2048 }]);
  const layer = 4 * 2048 * 2048;
  assert.deepEqual(
    rectangles(layer + 5).map(({ width, height, layer }) => [width, height, layer]),
    [
      [2048, 2048, 0],
      [2048, 1, 1],
    ],
  );
});

test('what ends within a row is copied, into the array of last time where there is one', () => {
  const short = Float32Array.of(1, 2, 3);
  const first = wholeRows('float32', [1, 1, 1], short, undefined);
  assert.deepEqual([...first], [1, 2, 3, 0]);
  short[0] = 9;
  assert.equal(wholeRows('float32', [1, 1, 1], short, first), first);
  assert.equal(first[0], 9);
  const fitting = new Float32Array(8);
  assert.equal(wholeRows('float32', [2, 1, 1], fitting, undefined), fitting);
  const image = new Float32Array(4 * 3 * 3 * 2); // all of a texture of three rows
  assert.equal(wholeRows('float32', [3, 3, 2], image, undefined), image);
});
