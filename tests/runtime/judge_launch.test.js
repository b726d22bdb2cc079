import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkLaunches } from '../../runtime-js/verify/check_launches.js';
import { judge } from '../../runtime-js/verify/judge_launch.js';

/** A reference that computes element by element; `untouched` are places that it leaves as they were. */
const reference = (tolerance, compute, untouched = []) => ({
  tolerance,
  compute: ([operand]) => {
    const result = operand.map(compute);
    return { result, places: result.length, at: (place) => (untouched.includes(place) ? -1 : place) };
  },
});

/** Whether what a device found passes, of the operand's elements. */
function passes(own, operand, found, isBool = false) {
  const numbers = [operand, operand];
  const { apart, allowed } = judge(own, numbers, [], own.compute(numbers, []), found, isBool);
  return apart <= allowed;
}

const sums = reference(1e-4, (x) => 2 * x);
const x = Float32Array.of(1, -4, 3);

test('floats may be a little off, by the largest of them', () => {
  assert.ok(passes(sums, x, Float32Array.of(2.0005, -8, 6)));
  assert.ok(!passes(sums, x, Float32Array.of(2.002, -8, 6)));
  assert.ok(!passes(sums, x, Float32Array.of(2.02, -8.08, 6.06)));
  assert.ok(passes(sums, Float32Array.of(0, 0), Float32Array.of(0, -0)));
  assert.ok(!passes(sums, Float32Array.of(0, 0), Float32Array.of(0, 1)));
});

test('no numbers and infinities have to agree', () => {
  const { NaN: none, POSITIVE_INFINITY: most } = Number;
  const odd = Float32Array.of(none, most, -3e38, 1);
  assert.ok(passes(sums, odd, Float32Array.of(none, most, -most, 2)));
  assert.ok(!passes(sums, odd, Float32Array.of(0, most, -most, 2)));
  assert.ok(!passes(sums, odd, Float32Array.of(none, -most, -most, 2)));
  assert.ok(!passes(sums, odd, Float32Array.of(none, most, -most, none)));
});

test('a mask hides no small numbers', () => {
  const masked = Float32Array.of(-10000, 1, 2, 3, -10000);
  assert.ok(passes(sums, masked, Float32Array.of(-20000.5, 2, 4, 6, -20000)));
  assert.ok(!passes(sums, masked, Float32Array.of(-20000, 2.1, 4, 6, -20000)));
});

test('what a kernel leaves as it was does not count', () => {
  const part = reference(1e-4, (v) => 2 * v, [1]);
  assert.ok(passes(part, x, Float32Array.of(2, 99, 6)));
  assert.ok(!passes(part, x, Float32Array.of(99, -8, 6)));
});

test('a kernel that amplifies rounding may be off by as much', () => {
  const steep = reference(1e-4, (v) => 1000 * v - 999);
  const near = Float32Array.of(1, 1, 1);
  assert.ok(passes(steep, near, Float32Array.of(1.002, 1, 1)));
  assert.ok(!passes(steep, near, Float32Array.of(1.02, 1, 1)));
});

test('integers are exact, but for those that are rounded, by a step', () => {
  const own = Int32Array.of(5, -7);
  const twice = (v) => 2 * v;
  const [exact, rounded] = [reference(0, twice), reference(1e-3, twice)];
  const off = Int32Array.of(10, -13);
  assert.ok(passes(exact, own, Int32Array.of(10, -14)));
  assert.ok(!passes(exact, own, off));
  assert.ok(passes(rounded, own, off));
  assert.ok(!passes(rounded, own, off, true), 'bools are no roundings');
  assert.ok(!passes(rounded, own, Int32Array.of(10, -12)));
  const isAbove = {
    tolerance: 1e-3,
    compute: ([operand]) => ({ result: Int32Array.from(operand, (v) => v > 1), places: 2, at: (place) => place }),
  };
  assert.ok(!passes(isAbove, Float32Array.of(0, 3), Int32Array.of(1, 1), true));
  assert.ok(passes(isAbove, Float32Array.of(1, 3), Int32Array.of(1, 1), true), 'which of two floats is larger is open');
});

test('a model is refused that has nothing to compare', async () => {
  const refused = (part, words) =>
    assert.rejects(checkLaunches({ manifest: {}, part, info: {}, signals: [] }), (error) => {
      assert.equal(error.code, 'check');
      assert.match(error.message, words);
      return true;
    });
  await refused({ backend: 'wasm' }, /runs on wasm: load it with/);
  await refused({ backend: 'webgpu' }, /no kernel of this model has one on webgpu, .*: compare outputs with load/);
});
