// Launches on operands made of a seed, in storages of their own, whose results the build computed natively: a driver that computes
// a kernel wrongly reports no error.
import { toHalf, widen, words } from '../values/convert.js';
import { lengthOf } from '../values/dtypes.js';
import { arrange } from './arrange.js';
import { at, launchesOf, storageOf, valueAt, whole } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Canary} Canary */
/** @typedef {import('./device_program.js').Program} Program */

const MIB = 2 ** 20;

/** Operations of a GPU in the time of a byte; a software adapter has one. */
const PER_BYTE = 128;

/** So many norms, roots of sums of squares, are added to a sum with random signs. */
const NORMS = 2.5;

/** After so many elements, a prime, the same ones come again: copies take a tenth of the time. */
const PERIOD = 65521;

/**
 * Kernels that were not checked, as they do not fit into `ms`, in their order, and those that failed.
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 * @param {Iterable<number>} kernels that have canaries
 * @param {number} [ms] all of them without it
 * @param {boolean} [software] whether the device is a CPU
 * @param {number} [least] so many are tried, whatever they take
 */
export async function tryKernels(device, program, kernels, ms = Infinity, software, least = 0) {
  const end = performance.now() + ms;
  /** @type {number[]} */
  const skipped = [];
  /** @type {number[]} */
  const failed = [];
  /** @type {Map<string, Words>} */
  const drawn = new Map();
  /** @type {Promise<void>[]} */
  const launched = [];
  let work = 0;
  for (const kernel of kernels) {
    const canary = /** @type {Program['kernels'][number] & { checksum: number }} */ (at(program.kernels, kernel));
    const own = canary.bytes + canary.flops / (software ? 1 : PER_BYTE);
    // More would take memory, and to wait for each takes longer than it does.
    if (work + own > 32 * MIB) {
      await Promise.all(launched.splice(0));
      work = 0;
    }
    // In a millisecond so many bytes are made, moved and compared, at least.
    if (--least < 0 && performance.now() + (work + own) / MIB > end) {
      skipped.push(kernel);
      continue;
    }
    work += own;
    const launch = at(launchesOf(program, kernel), 0);
    const result = launch.arguments.length - 1;
    const { dtype } = storageOf(program, at(launch.arguments, result));
    const contents = launch.arguments.map((value, i) => elements(program, canary, value, result - i, drawn));
    const signs = /** @type {Words} */ (contents.pop());
    contents.push(words(dtype, signs.length));
    const { tryLaunch } = /** @type {Required<typeof device>} */ (device);
    const going = tryLaunch(launch, canary.sizes ?? [], contents).then((left) => {
      // Without it there is no memory for the launch, which says nothing of the kernel.
      if (!left) skipped.push(kernel);
      else if (!agrees(canary, signs, dtype, left)) failed.push(kernel);
    });
    going.catch(() => {}); // as operands of the next may have no memory
    launched.push(going);
  }
  await Promise.all(launched);
  return { skipped, failed };
}

/**
 * Elements of an argument in the order of its storage, each made of 32 random bits (Marsaglia, Xorshift RNGs, 2003); those that are padding
 * are zero. In place of the result there are signs, of type int8.
 * @param {Program} program
 * @param {Canary} canary
 * @param {number} value
 * @param {number} a number of the argument, from the result on, which is 0
 * @param {Map<string, Words>} drawn what was made before: shorter arguments are the head of a longer one
 */
const elements = (program, canary, value, a, drawn) => {
  const { length, dtype: own } = valueAt(program, value);
  const { dtype, texture } = storageOf(program, value);
  const size = texture ? 4 * lengthOf(texture) : whole(dtype, length);
  const constant = program.constants.find((one) => one.value === value);
  const [digits = [[length]], limits = []] = canary.outside?.[a] ?? [constant?.digits, constant?.limits];
  const type = a ? dtype : 'int8';
  const key = `${[a, type, own, canary.floats, canary.integers]}`;
  let array = drawn.get(key) ?? words(type, 0);
  if (array.length < size) {
    array = words(type, Math.max(size, PERIOD));
    drawn.set(key, array); // there is one for each kind of operand
    const number = a ? numberOf(own, canary) : (/** @type {number} */ word) => 1 - 2 * (word & 1);
    let word = (a + 1) * 0x9e3779b1;
    for (let e = 0; e < PERIOD; e++) {
      word ^= word << 13;
      word ^= word >>> 17;
      word ^= word << 5;
      array[e] = type === 'float16' ? toHalf(number(word)) : number(word);
    }
    for (let e = PERIOD; e < size; e += PERIOD) array.copyWithin(e, 0, PERIOD);
  }
  const copy = words(type, size);
  arrange(
    array,
    copy,
    digits.map(([extent, , ...axis]) => [extent, undefined, ...axis]),
    limits,
  );
  return copy;
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
 * @param {Canary & { checksum: number }} canary
 * @param {Words} signs zero for padding
 * @param {string} dtype of the result
 * @param {ArrayBuffer} bytes
 */
const agrees = ({ checksum, tolerance = 1e-4, most = Infinity }, signs, dtype, bytes) => {
  const numbers = new Float64Array(signs.length);
  widen(dtype, words(dtype, signs.length, bytes), numbers, '');
  let total = 0;
  let squares = 0;
  for (let e = 0; e < signs.length; e++) {
    const sign = /** @type {number} */ (signs[e]);
    const number = sign && Math.max(-most, Math.min(most, /** @type {number} */ (numbers[e])));
    total += sign * number;
    squares += number * number;
  }
  return Math.abs((total - checksum) / squares ** 0.5 + NORMS * Math.sign(checksum)) <= tolerance;
};
