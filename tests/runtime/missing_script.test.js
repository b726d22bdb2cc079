import assert from 'node:assert/strict';
import { register } from 'node:module';
import { test } from 'node:test';
import { load } from '../../runtime-js/load/load.js';

// A backend that this file has, and a server without the script that judges outputs.
const backend = `export const startWebgl = async () => ({
  facts: { adapter: 'A GPU' },
  run: async ([x]) => [Int32Array.of(1), x.map(Math.log)],
  dispose() {},
})`;
const hooks = `export async function resolve(specifier, context, next) {
  if (specifier.endsWith('/verify_runs.js')) throw new Error('gone');
  if (!specifier.endsWith('/start_webgl.js')) return next(specifier, context);
  return { url: ${JSON.stringify(`data:text/javascript,${encodeURIComponent(backend)}`)}, shortCircuit: true };
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

test('without its script outputs that are not finite are one warning, which names the output', async (t) => {
  const warnings = t.mock.method(console, 'warn', () => {}).mock;
  const model = await load({
    abi: 5,
    inputs: [{ name: 'x', dtype: 'float32', shape: [2] }],
    outputs: [
      { name: 'n', dtype: 'int32', shape: [1] },
      { name: 'y', dtype: 'float32', shape: [2] },
    ],
    weights: [],
    backends: [{ backend: 'webgl' }],
  });
  const run = async () =>
    assert.deepEqual((await model.run({ x: Float32Array.of(1, 0) })).y, Float32Array.of(0, -Infinity));
  await Promise.all([run(), run()]);
  await run();
  assert.equal(warnings.callCount(), 1);
  assert.match(
    warnings.calls[0].arguments[0],
    /^output "y" has NaN or infinities: the script of the comparison with wasm did not load \(gone\): is it beside model\.js/,
  );
  assert.deepEqual(model.info().verified, { every: 0, runs: 0, largest: 0, nonFinite: 'unchecked' });
});
