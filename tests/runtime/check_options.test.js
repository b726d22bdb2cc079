import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkOptions, checkRunOptions } from '../../runtime-js/load/check_options.js';

/** @type {any[]} */
const values = [
  1n,
  Symbol('s'),
  Object.create(null),
  { toString: null },
  ['a'],
  null,
  Object.assign(() => {}, { toString: null }),
  new Proxy({}, {}),
];
const shown = ['1', 'Symbol(s)', 'an object', 'an object', 'an object', 'null', 'a function', 'an object'];

test('messages show values of every kind', () => {
  const have = "it has: wasm, or 'auto'";
  for (const [i, value] of values.entries()) {
    const got = shown[i];
    assert.throws(() => checkOptions({ backend: value }, ['wasm']), {
      name: 'UnsupportedError',
      message: `this bundle has no backend "${got}"; ${have}`,
    });
    assert.throws(() => checkOptions({ threads: value }, ['wasm']), {
      name: 'RangeError',
      message: `threads: expected 'auto' or a whole number from 1, got ${got}`,
    });
    assert.throws(() => checkOptions({ timeout: value }, ['wasm']), {
      name: 'RangeError',
      message: `timeout: expected milliseconds from 0, got ${got}`,
    });
    assert.throws(() => checkRunOptions({ output: value }, { backend: 'wasm', worker: false }), {
      name: 'TypeError',
      message: `output: expected 'array' or 'gpu-buffer', got ${got}`,
    });
  }
});
