import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedError } from '../../runtime-js/errors.js';
import { listVariants } from '../../runtime-js/wasm/features.js';
import { pickVariant } from '../../runtime-js/wasm/pick_variant.js';

test('the probe for plain SIMD is a valid module', () => {
  assert.ok(listVariants().includes('plain'));
});

/** Without the variants that multiply bytes. */
const ofFloats = (variants) => variants.filter((name) => ['relaxed', 'plain'].includes(name));

test('relaxed comes before plain, and only what the browser validates', (t) => {
  const { mock } = t.mock.method(WebAssembly, 'validate', () => true);
  assert.deepEqual(ofFloats(listVariants()), ['relaxed', 'plain']);
  const [relaxed, plain] = mock.calls.slice(-2).map((call) => call.arguments[0].length);
  assert.ok(relaxed > plain);
  mock.mockImplementation((bytes) => bytes.length === plain);
  assert.deepEqual(listVariants(), ['plain']);
});

/** Another constructor of WebAssembly until the end of a test. */
function replace(t, name, other) {
  const own = WebAssembly[name];
  WebAssembly[name] = other;
  t.after(() => {
    WebAssembly[name] = own;
  });
}

// Engines, by the results of the probes for quads and for halves: what Arm computes, x86 with VNNI, and x86 without.
for (const [engine, results, expected] of [
  ['signed bytes', [65028, -256], ['signed']],
  ['unsigned bytes', [64004, 32512], ['unsigned', 'narrow']],
  ['unsigned bytes in 16 bits', [-2, 32512], ['narrow']],
  ['neither', [0, 0], []],
]) {
  test(`${engine}: the variants that are exact`, (t) => {
    let probes = 0;
    t.mock.method(WebAssembly, 'validate', () => true);
    replace(t, 'Module', class {});
    replace(
      t,
      'Instance',
      class {
        exports = { f: () => results[probes < 3 ? 0 : 1] };
        constructor() {
          probes += 1;
        }
      },
    );
    assert.deepEqual(listVariants(), [...expected, 'relaxed', 'plain']);
    assert.equal(probes, 3);
  });
}

test('this engine takes bytes in one way, and before the other variants', () => {
  const variants = listVariants();
  assert.ok(!(variants.includes('signed') && variants.includes('narrow')));
  if (variants.includes('unsigned')) assert.ok(variants.includes('narrow'));
  if (process.arch === 'x64' && variants.includes('relaxed')) assert.ok(variants.includes('narrow'));
  assert.deepEqual(variants.slice(-ofFloats(variants).length), ofFloats(variants));
});

test('where a policy forbids to compile, no bytes are multiplied', (t) => {
  t.mock.method(WebAssembly, 'validate', () => true);
  replace(
    t,
    'Module',
    class {
      constructor() {
        throw new WebAssembly.CompileError('blocked');
      }
    },
  );
  assert.deepEqual(listVariants(), ['relaxed', 'plain']);
});

test('a variant that the bundle lacks is not picked', () => {
  assert.equal(pickVariant(['plain', 'relaxed'], ['relaxed', 'plain']), 'relaxed');
  assert.equal(pickVariant(['plain'], ['relaxed', 'plain']), 'plain');
  assert.throws(() => pickVariant([], ['relaxed', 'plain']), UnsupportedError);
  assert.throws(() => pickVariant(['plain', 'relaxed'], []), { code: 'simd' });
});
