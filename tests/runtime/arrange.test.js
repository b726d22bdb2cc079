import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrange } from '../../runtime-js/device/arrange.js';

/** @type {(source: number[], length: number, digits: any[], limits: number[]) => number[]} */
function arranged(source, length, digits, limits) {
  const target = new Float32Array(length);
  arrange(Float32Array.from(source), target, digits, limits);
  return [...target];
}

test('a transpose is two digits', () => {
  // 2 x 3, read by columns
  const digits = [
    [3, 1, -1, 0],
    [2, 3, -1, 0],
  ];
  assert.deepEqual(arranged([1, 2, 3, 4, 5, 6], 6, digits, []), [1, 4, 2, 5, 3, 6]);
});

test('beyond the limit of an axis there are zeros', () => {
  // 5 elements in two groups of four, each of two rows
  const digits = [
    [2, 4, 0, 4],
    [2, 5, -1, 0],
    [4, 1, 0, 1],
  ];
  const rows = [1, 2, 3, 4, 5, 11, 12, 13, 14, 15];
  assert.deepEqual(arranged(rows, 16, digits, [5]), [1, 2, 3, 4, 11, 12, 13, 14, 5, 0, 0, 0, 15, 0, 0, 0]);
});

test('what is in one piece is copied as it is, as far as the limit', () => {
  const source = Array.from({ length: 300 }, (_, i) => i + 1);
  const zeros = (/** @type {number} */ length) => Array.from({ length }, () => 0);
  const rows = [[3, 100, 0, 1], [5], [20]]; // the third row is beyond the limit
  assert.deepEqual(arranged(source, 300, rows, [2]), [...source.slice(0, 200), ...zeros(100)]);
  const within = [[2, 150], [5, 30, 0, 1], [30]]; // two of five, twice
  const half = [...source.slice(0, 60), ...zeros(90)];
  assert.deepEqual(arranged(source, 300, within, [2]), [...half, ...half.map((n) => n && n + 150)]);
  const strided = [
    [2, 1],
    [40, 2],
  ]; // columns
  const columns = (/** @type {number} */ start) => Array.from({ length: 40 }, (_, i) => start + 2 * i);
  assert.deepEqual(arranged(source, 80, strided, []), [...columns(1), ...columns(2)]);
});

test('one element has no digits', () => {
  assert.deepEqual(arranged([7], 1, [], []), [7]);
});
