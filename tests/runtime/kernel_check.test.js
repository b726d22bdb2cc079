import assert from 'node:assert/strict';
import { test } from 'node:test';
import { summarise } from '../../runtime-js/bundle_page/kernel_check.js';

const none = { compared: 9, launches: 1, skipped: [], largest: 1.234e-6, wrong: [], outputs: [] };
const wrong = (nodes) => ({ kernel: 'conv_relu', nodes, ops: ['Conv'], launch: 3, apart: 0.01, allowed: 1e-4 });

test('a backend whose kernels are right', () => {
  assert.deepEqual(summarise(none), {
    passed: true,
    words: '9 kernels right in 1 launch: largest difference 0.0000012 of the largest value',
  });
  const skipped = [{ kernel: 'gather', nodes: [] }];
  assert.match(summarise({ ...none, skipped }).words, /; 1 could not be compared$/);
});

test('the first wrong kernel, and what it computes', () => {
  const { passed, words } = summarise({ ...none, wrong: [wrong(['conv1', 'relu1'])], outputs: [{ name: 'y' }] });
  assert.equal(passed, false);
  assert.equal(words, 'kernel conv_relu is WRONG, which computes conv1, relu1: it differs by 0.010, 0.00010 allowed');
  const many = summarise({ ...none, wrong: [wrong([...'abcde']), wrong([]), wrong([])] }).words;
  assert.match(many, /computes a, b, c, d, …: .*; 2 more kernels behind it$/);
  assert.match(summarise({ ...none, wrong: [wrong([])] }).words, /is WRONG, of no node:/);
});

test('nothing was compared, which is no pass', () => {
  const nothing = { ...none, compared: 0, launches: 0, skipped: [{ kernel: 'gather', nodes: [] }] };
  assert.throws(() => summarise(nothing), /no kernel could be compared, of 1$/);
  const { passed, words } = summarise({ ...nothing, outputs: [{ name: 'y', apart: 0.5, allowed: 1e-3 }] });
  assert.equal(passed, false);
  assert.match(words, /^output y is WRONG: .*; no kernel could be compared, of 1$/);
});

test('a fault between launches', () => {
  const { passed, words } = summarise({ ...none, outputs: [{ name: 'y', apart: 0.5, allowed: 1e-3 }] });
  assert.equal(passed, false);
  assert.match(words, /^output y is WRONG: it differs by 0.50, .*each by itself, so the fault lies between launches$/);
});
