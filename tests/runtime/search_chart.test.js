import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clock, pointsOf } from '../../rpc/device_page/search_chart.js';

test('the line goes in steps from the default at the top to the present trial', () => {
  assert.equal(pointsOf([], 0, 8), '0,10 0.0,10');
  const points = [
    [2, 0.5],
    [4, 0.25],
  ];
  assert.equal(pointsOf(points, 6, 8), '0,10 80.0,10 80.0,60 160.0,60 160.0,85 240.0,85');
  assert.equal(pointsOf([[1, 0]], 1, 1), '0,10 320.0,10 320.0,110 320.0,110');
});

test('what takes longer than the default stays at the top', () => {
  assert.equal(pointsOf([[1, 1.5]], 2, 2), '0,10 160.0,10 160.0,10 320.0,10');
});

test('seconds that round up to a minute are one', () => {
  assert.deepEqual([0, 59.4, 59.6, 119.7, 3600, -1].map(clock), ['0:00', '0:59', '1:00', '2:00', '60:00', '0:00']);
});
