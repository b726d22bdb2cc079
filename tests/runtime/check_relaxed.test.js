import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { checkRelaxed } from '../../runtime-js/wasm/check_relaxed.js';
import './broken_engine.js';

// Node.js 20 has them behind a flag, and its first compiler computes dots wrongly.
setFlagsFromString('--experimental-wasm-relaxed-simd');
setFlagsFromString('--no-liftoff');

const OTHERS = {
  'f32x4.relaxed_madd': [0x85, 0x86], // nmadd
  'f32x4.relaxed_nmadd': [0x86, 0x85],
  'f32x4.relaxed_min': [0x8d, 0x8e], // max
  'f32x4.relaxed_max': [0x8e, 0x8d],
  'i16x8.relaxed_dot_i8x16_i7x16_s': [0x92, 0x91], // i16x8.relaxed_q15mulr_s
  'i32x4.relaxed_dot_i8x16_i7x16_add_s': [0x93, 0x85],
};
const count = Object.keys(OTHERS).length;

/** The warnings of a test. */
const collectWarnings = (t) => {
  const warnings = [];
  t.mock.method(console, 'warn', (text) => warnings.push(text));
  return warnings;
};

test('this engine computes what modules rely on', (t) => {
  const warnings = collectWarnings(t);
  assert.deepEqual(checkRelaxed(), { checked: count, skipped: 0, failed: [] });
  assert.equal(warnings.length, 0);
});

for (const [kernel, [from, to]] of Object.entries(OTHERS)) {
  test(`${kernel} that computes wrongly is found`, (t) => {
    const warnings = collectWarnings(t);
    t.after(breakEngine(from, to));
    const failed = [{ kernel, nodes: [], backend: 'wasm', action: 'plain-simd' }];
    assert.deepEqual(checkRelaxed(), { checked: count, skipped: 0, failed });
    assert.deepEqual(warnings, [`wasm gives wrong results here, by ${kernel}: the module of plain SIMD runs instead`]);
  });
}

test('what the engine lacks, or a policy forbids, is no fault', (t) => {
  const nothing = { checked: 0, skipped: count, failed: [] };
  const validate = t.mock.method(WebAssembly, 'validate', () => false);
  assert.deepEqual(checkRelaxed(), nothing);
  validate.mock.restore();
  const { Module } = WebAssembly;
  WebAssembly.Module = class {
    constructor() {
      throw new WebAssembly.CompileError('blocked');
    }
  };
  t.after(() => Object.assign(WebAssembly, { Module }));
  assert.deepEqual(checkRelaxed(), nothing);
});
