import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../runtime-js/errors.js';
import { pickVariant } from '../../runtime-js/features.js';

test('the probe for plain SIMD is a valid module', () => {
  assert.equal(pickVariant(['plain']), 'plain');
});

test('relaxed is asked first, plain taken where it fails', (t) => {
  const asked = [];
  t.mock.method(WebAssembly, 'validate', (bytes) => {
    asked.push(bytes.length);
    return asked.length === 2;
  });
  assert.equal(pickVariant(['plain', 'relaxed']), 'plain');
  assert.ok(asked[0] > asked[1]);
});

test('a variant that the bundle lacks is not picked', (t) => {
  t.mock.method(WebAssembly, 'validate', () => true);
  assert.equal(pickVariant(['plain']), 'plain');
  assert.throws(() => pickVariant([]), UnsupportedError);
});
