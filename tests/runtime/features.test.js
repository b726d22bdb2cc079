import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../runtime-js/errors.js';
import { listVariants, pickVariant } from '../../runtime-js/wasm/features.js';

test('the probe for plain SIMD is a valid module', () => {
  assert.ok(listVariants().includes('plain'));
});

test('relaxed comes first, and only what the browser validates', (t) => {
  const { mock } = t.mock.method(WebAssembly, 'validate', () => true);
  assert.deepEqual(listVariants(), ['relaxed', 'plain']);
  const [relaxed, plain] = mock.calls.map((call) => call.arguments[0].length);
  assert.ok(relaxed > plain);
  mock.mockImplementation((bytes) => bytes.length === plain);
  assert.deepEqual(listVariants(), ['plain']);
});

test('a variant that the bundle lacks is not picked', () => {
  assert.equal(pickVariant(['plain', 'relaxed'], ['relaxed', 'plain']), 'relaxed');
  assert.equal(pickVariant(['plain'], ['relaxed', 'plain']), 'plain');
  assert.throws(() => pickVariant([], ['relaxed', 'plain']), UnsupportedError);
  assert.throws(() => pickVariant(['plain', 'relaxed'], []), { code: 'simd' });
});
