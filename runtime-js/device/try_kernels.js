// Launches on operands made of a seed, in storages of their own, whose results the build computed natively: a driver that computes
// a kernel wrongly reports no error.
import { toHalf, widen, words } from '../values/convert.js';
import { arrange } from './arrange.js';
import { at, launchesOf, storageOf, valueAt, whole } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Canary} Canary */
/** @typedef {import('./device_program.js').Program} Program */

/** Operations and bytes that a software adapter does in a millisecond, at most. */
const PER_MS = 2 ** 20;

/** After so many elements, a prime, the same ones come again: copies take a tenth of the time. */
const PERIOD = 65521;

/**
 * Count of kernels that were checked, in their order, as far as they fit into `ms`, and those of them that failed.
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 * @param {readonly number[]} kernels that have canaries
 * @param {number} [ms] all of them without it
 */
export async function tryKernels(device, program, kernels, ms = Infinity) {
  const end = performance.now() + ms;
  let checked = 0;
  /** @type {number[]} */
  const failed = [];
  /** @type {Promise<void> | undefined} */
  let last;
  for (const kernel of kernels) {
    const canary = at(program.kernels, kernel);
    if (performance.now() + (canary.flops + canary.bytes) / PER_MS > end) continue;
    const launch = at(launchesOf(program, kernel), 0);
    const result = launch.arguments.length - 1;
    const { dtype } = storageOf(program, at(launch.arguments, result));
    const contents = launch.arguments.map((value, i) => elements(program, canary, value, result - i));
    const signs = at(contents, result);
    contents[result] = words(dtype, signs.length);
    const finish = async () => {
      const left = await device.tryLaunch?.(launch, canary.sizes ?? [], contents);
      // Without it there is no memory for the launch, which says nothing of the kernel.
      if (!left) return;
      checked++;
      if (!agrees(canary, signs, dtype, left)) failed.push(kernel);
    };
    // The device computes one while operands of the next are made; more would take memory.
    await last;
    last = finish();
  }
  await last;
  return { checked, failed };
}

/**
 * Elements of an argument in the order of its storage, each made of 32 random bits (Marsaglia, Xorshift RNGs, 2003); those that are padding
 * are zero. In place of the result there are signs, of type int8.
 * @param {Program} program
 * @param {Canary} canary
 * @param {number} value
 * @param {number} a number of the argument, from the result on, which is 0
 */
const elements = (program, canary, value, a) => {
  const { length, dtype: own } = valueAt(program, value);
  const { dtype, texture } = storageOf(program, value);
  const size = texture ? texture.reduce((product, extent) => product * extent, 4) : whole(dtype, length);
  const constant = program.constants.find((one) => one.value === value);
  const [digits = [[length, 0]], limits = []] = canary.outside?.[a] ?? [constant?.digits, constant?.limits];
  const inside = new Int8Array(size);
  /** @type {import('./arrange.js').StridedDimension[]} */
  const ones = digits.map(([extent, , ...axis]) => [extent, 0, ...axis]);
  arrange(Int8Array.of(1), inside, ones, limits);
  const type = a ? dtype : 'int8';
  const array = words(type, size);
  const number = a ? numberOf(own, canary) : (/** @type {number} */ word) => 1 - 2 * (word & 1);
  let word = (a + 1) * 0x9e3779b1;
  for (let e = 0; e < size && e < PERIOD; e++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    array[e] = type === 'float16' ? toHalf(number(word)) : number(word);
  }
  for (let e = PERIOD; e < size; e *= 2) array.copyWithin(e, 0, size - e);
  return array.map((element, e) => element * Number(inside[e]));
};

/** @type {Record<string, number>} */
const masks = { bool: 1, int8: 255, uint8: 255, uint32: -1 };

/**
 * Numbers of a dtype of the model, of 32 random bits.
 * @param {string} dtype
 * @param {Canary} canary
 * @returns {(word: number) => number}
 */
const numberOf = (dtype, { floats = 1, integers }) => {
  if (dtype.startsWith('float')) return (word) => ((word & 4095) / 2048 - 1) * floats + (floats < 1 ? 1 : 0);
  const mask = masks[dtype] ?? integers ?? 7;
  return (word) => (integers === undefined ? (word & mask) - (dtype === 'int8' ? 128 : 0) : word & mask & integers);
};

/**
 * Whether a result is the build's, by its norm, and its sum with random signs, in which errors of rounding cancel.
 * @param {Canary} canary
 * @param {Words} signs zero for padding
 * @param {string} dtype of the result
 * @param {ArrayBuffer} bytes
 */
const agrees = ({ sum = 0, norm = 0, tolerance = 1e-4, most = Infinity }, signs, dtype, bytes) => {
  const numbers = new Float64Array(signs.length);
  widen(dtype, words(dtype, signs.length, bytes), numbers, '');
  let total = 0;
  let squares = 0;
  signs.forEach((sign, e) => {
    const number = sign && Math.max(-most, Math.min(most, Number(numbers[e])));
    total += sign * number;
    squares += number * number;
  });
  // The norm is the root of the squares: its logarithm is half of theirs.
  return (
    Math.abs(total / squares ** 0.5 / tolerance - sum / 2) <= 1 && Math.abs(Math.log(squares) / tolerance - norm) <= 2
  );
};
