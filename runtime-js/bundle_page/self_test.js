// The model on inputs from a seed, beside what the compiler computed of them on its machine.

import { numbersOf } from '../values/compare_results.js';
import { seededValues } from './seeded.js';

/** @typedef {import('../model.js').Model} Model */
/**
 * @typedef {object} Golden what compiler/driver/make_golden.py wrote
 * @property {number} seed
 * @property {Record<string, number>} sizes
 * @property {Record<string, [number, number]>} ranges of integers
 * @property {number} [runs] of which the last is compared, from the states at the start on
 * @property {Record<string, Kept>} outputs
 */
/** @typedef {{ count: number, integers?: string, floats?: string, rms?: number, tolerance?: number }} Kept */
/** @typedef {{ output: string, wrong: boolean, absolute: number, relative: number, tolerance: number }} Compared */

/** @param {string} url @returns {Promise<Golden>} */
async function fetchGolden(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: HTTP status ${response.status}`);
  return response.json();
}

/**
 * Runs the model once, or so often that it finds something in its states, which are then as at the start.
 * @param {Model} model
 * @param {Golden} golden
 * @returns {Promise<Compared[]>} for each output
 */
export async function testModel(model, { seed, sizes, ranges, runs = 1, outputs }) {
  const shapes = model.inputShapes(sizes);
  const inputs = model.inputs.map(({ name, dtype }, i) => {
    const shape = /** @type {number[]} */ (shapes[name]);
    return [name, { data: seededValues(dtype, shape, seed + i, ranges[name]), shape }];
  });
  /** @type {import('../model.js').Outputs} */
  let results = {};
  await model.reset?.();
  for (let i = 0; i < runs; i++) results = await model.run(Object.fromEntries(inputs));
  await model.reset?.();
  return Object.entries(outputs).map(([output, kept]) => {
    const dtype = model.outputs.find(({ name }) => name === output)?.dtype;
    return {
      output,
      ...(kept.floats === undefined ? exactly(kept, results[output]) : nearly(kept, results[output], dtype)),
    };
  });
}

/**
 * The number of the element that is kept as number `i` of `of`.
 * @param {number} i
 * @param {number} of
 * @param {number} count
 */
const placeOf = (i, of, count) => Math.floor(((2 * i + 1) * count) / (2 * of));

/**
 * @param {Kept} kept
 * @param {any} result
 */
function exactly({ count, integers = '' }, result) {
  const expected = integers ? integers.split(' ') : [];
  const apart = expected.map((text, i) =>
    Math.abs(Number(BigInt(result[placeOf(i, expected.length, count)] ?? 0) - BigInt(text))),
  );
  const absolute = Math.max(0, ...apart);
  return { absolute, relative: absolute, tolerance: 0, wrong: result.length !== count || absolute > 0 };
}

/**
 * Differences of the elements that are kept, and of the root of the mean of the squares of all, relative to the largest.
 * @param {Kept} kept
 * @param {unknown} result
 * @param {string | undefined} dtype
 */
function nearly({ count, floats = '', rms = 0, tolerance = 0 }, result, dtype) {
  const numbers = numbersOf(result, dtype);
  const expected = decode(floats);
  let largest = 0;
  let absolute = 0;
  expected.forEach((want, i) => {
    const got = numbers[placeOf(i, expected.length, count)] ?? Number.NaN;
    if (Number.isFinite(want)) largest = Math.max(largest, Math.abs(want));
    if (!Object.is(got, want) && got !== want) absolute = Math.max(absolute, finite(Math.abs(got - want)));
  });
  const real = numbers.filter(Number.isFinite);
  const squares = real.reduce((sum, n) => sum + n * n, 0);
  const scale = largest || 1;
  const relative = absolute / scale;
  const mean = finite(Math.abs(Math.sqrt(squares / (real.length || 1)) - rms)) / scale;
  return { absolute, relative, tolerance, wrong: numbers.length !== count || !(Math.max(relative, mean) <= tolerance) };
}

/** @param {number} n NaN, of values of which one alone is finite, is an infinite difference */
const finite = (n) => (Number.isNaN(n) ? Number.POSITIVE_INFINITY : n);

/**
 * float32 without their lowest byte.
 * @param {string} text in base64
 */
function decode(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const view = new DataView(new ArrayBuffer(4));
  return Array.from({ length: bytes.length / 3 }, (_, i) => {
    for (let k = 0; k < 3; k++) view.setUint8(k, bytes[3 * i + 2 - k] ?? 0);
    return view.getFloat32(0);
  });
}

/**
 * The test of models of this bundle.
 * @param {string} url of the file that the compiler wrote
 */
export async function selfTest(url) {
  const golden = await fetchGolden(url);
  return async (/** @type {Model} */ model) => summarise(await testModel(model, golden));
}

/**
 * @param {readonly Compared[]} compared the compiler makes no test of a model without outputs to compare
 * @returns {{ passed: boolean, words: string }}
 */
export function summarise(compared) {
  const [worst] = [...compared].sort((a, b) => Number(b.wrong) - Number(a.wrong) || b.relative - a.relative);
  const { output, wrong, absolute, relative, tolerance } = /** @type {Compared} */ (worst);
  const allowed = tolerance
    ? `${relative.toPrecision(2)} of the largest value, ${tolerance} allowed`
    : 'exact is required';
  return {
    passed: !wrong,
    words: `self-test ${wrong ? 'FAILED' : 'passed'}: largest error ${absolute.toPrecision(2)} in ${output}, ${allowed}`,
  };
}
