// Launches on operands made of a seed, in storages of their own, whose results the build computed natively: a driver that computes
// a kernel wrongly reports no error.
import { toHalf, widenHalves, words } from '../values/convert.js';
import { wordOf } from '../values/seeded_word.js';
import { arrange } from './arrange.js';
import { at, storageOf, valueAt, whole } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Canary} Canary */
/** @typedef {import('./device_program.js').Program} Program */

/** Operations and bytes that a software adapter does in a millisecond, at most. */
const PER_MS = 2 ** 20;

/** After so many elements, a prime, the same ones come again: copies take a tenth of the time. */
const PERIOD = 65521;

/**
 * Count of canaries that were checked, in their order, as far as they fit into `ms`, and those of them that failed.
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 * @param {readonly Canary[]} canaries
 * @param {number} ms Infinity: all of them
 */
export async function tryKernels(device, program, canaries, ms) {
  const end = performance.now() + ms;
  let checked = 0;
  /** @type {Canary[]} */
  const failed = [];
  let last = Promise.resolve();
  for (const canary of canaries) {
    const launch = at(program.launches, canary.launch);
    const { flops, bytes } = at(program.kernels, launch.kernel);
    if (performance.now() + (flops + bytes) / PER_MS > end) continue;
    const types = launch.arguments.map((value) => storageOf(program, value).dtype);
    const result = types.length - 1;
    const signs = elements(program, canary, result, 'int8', (word) => (word & 1 ? -1 : 1));
    const contents = types.map((type, a) => {
      if (a === result) return words(type, signs.length);
      const number = numberOf(valueAt(program, at(launch.arguments, a)).dtype, canary);
      return elements(program, canary, a, type, type === 'float16' ? (word) => toHalf(number(word)) : number);
    });
    const finish = async () => {
      const left = await device.tryLaunch?.(launch, canary.scalars ?? [], contents);
      // Without it there is no memory for the launch, which says nothing of the kernel.
      if (!left) return;
      checked++;
      if (!agrees(canary, signs, at(types, result), left)) failed.push(canary);
    };
    // The device computes one while operands of the next are made; more would take memory.
    await last;
    last = finish();
  }
  await last;
  return { checked, failed };
}

/**
 * Elements of an argument in the order of its storage, each made of 32 random bits; those that are padding are zero.
 * @param {Program} program
 * @param {Canary} canary
 * @param {number} a number of the argument
 * @param {string} type
 * @param {(word: number) => number} number
 */
function elements(program, { launch, outside }, a, type, number) {
  const value = at(at(program.launches, launch).arguments, a);
  const { length } = valueAt(program, value);
  const { dtype, texture } = storageOf(program, value);
  const size = texture ? texture.reduce((product, extent) => product * extent, 4) : whole(dtype, length);
  const constant = program.constants.find((one) => one.value === value);
  const [, digits = constant?.digits, limits = constant?.limits] = outside?.find(([number]) => number === a) ?? [];
  const array = words(type, size);
  const count = digits ? size : length;
  for (let e = 0; e < count && e < PERIOD; e++) array[e] = number(wordOf(e, a));
  for (let e = PERIOD; e < count; e *= 2) array.copyWithin(e, 0, count - e);
  if (!digits) return array;
  const inside = words(type, size);
  let stride = digits.reduce((product, [extent]) => product * extent, 1);
  /** @type {typeof digits} */
  const own = digits.map(([extent, , axis, weight]) => {
    stride /= extent;
    return [extent, stride, axis, weight];
  });
  arrange(array, inside, own, limits ?? []);
  return inside;
}

/** @type {Record<string, number>} */
const masks = { bool: 1, int8: 255, uint8: 255, uint32: -1 };

/**
 * Numbers of a dtype of the model, of 32 random bits.
 * @param {string} dtype
 * @param {Canary} canary
 * @returns {(word: number) => number}
 */
function numberOf(dtype, { positive, integers }) {
  if (dtype.startsWith('float'))
    return positive ? (word) => ((word & 4095) + 2048) / 4096 : (word) => ((word & 4095) - 2048) / 2048;
  const mask = masks[dtype] ?? integers ?? 7;
  if (integers !== undefined) return (word) => word & mask & integers;
  return (word) => (word & mask) - (dtype === 'int8' ? 128 : 0);
}

/**
 * Whether a result is the build's, by its norm, and its sum with random signs, in which errors of rounding cancel.
 * @param {Canary} canary
 * @param {Words} signs zero for padding
 * @param {string} type of the result
 * @param {ArrayBuffer} bytes
 */
function agrees({ sum, norm, tolerance, most = Infinity }, signs, type, bytes) {
  const result = words(type, signs.length, bytes);
  const numbers = type === 'float16' ? new Float32Array(signs.length) : result;
  if (numbers !== result) widenHalves(/** @type {Uint16Array} */ (result), numbers);
  let total = 0;
  let squares = 0;
  for (let e = 0; e < signs.length; e++) {
    const sign = /** @type {number} */ (signs[e]);
    const number = sign && Math.max(-most, Math.min(most, /** @type {number} */ (numbers[e])));
    total += sign * number;
    squares += number * number;
  }
  const allowed = tolerance * norm;
  return Math.abs(total - sum) <= allowed && Math.abs(Math.sqrt(squares) - norm) <= allowed;
}
