// Between the model's element types and the 32-bit ones that a device has.
import { elementOf, typedArray } from './dtypes.js';

/**
 * @typedef {Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>
 *   | Int16Array<ArrayBuffer> | Uint8Array<ArrayBuffer> | Int8Array<ArrayBuffer>} Words
 * Elements of fewer than 32 bits, those of Uint16Array maybe bits of halves, are in constants and states alone.
 */

/**
 * @param {string} dtype as a device has it
 * @param {number} length
 * @param {ArrayBuffer} [buffer]
 * @param {number} [offset] bytes
 * @returns {Words}
 */
export const words = (dtype, length, buffer = new ArrayBuffer(elementOf(dtype).bytes * length), offset = 0) =>
  /** @type {Words} */ (typedArray(dtype, buffer, offset, elementOf(dtype).bytes * length));

/**
 * Fills the head of `target` with the elements of `dtype` whose bytes `view` holds; integers wider than the device's
 * must fit.
 * @param {string} dtype
 * @param {ArrayBufferView} view
 * @param {Words | Float64Array} target
 * @param {string} what for the error
 * @throws {RangeError}
 */
export function widen(dtype, view, target, what) {
  const { buffer, byteOffset, byteLength } = view;
  // Views must be aligned, and the bytes of a tensor among others need not be.
  const whole = byteOffset % 8 === 0;
  const bytes = whole ? buffer : new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
  const array = typedArray(dtype, /** @type {ArrayBuffer} */ (bytes), whole ? byteOffset : 0, byteLength);
  switch (dtype) {
    case 'float16':
      widenHalves(/** @type {Uint16Array} */ (array), target);
      break;
    case 'bool':
      for (let i = 0; i < array.length; i++) target[i] = array[i] ? 1 : 0;
      break;
    case 'int64':
    case 'uint64':
      halve(/** @type {BigInt64Array | BigUint64Array} */ (array), target, what);
      break;
    default:
      target.set(/** @type {Float32Array} */ (array));
  }
}

const FEW = 4096; // elements for which a table of all halves is not worth its making
/** @type {Float32Array | undefined} by bits */
let singles;

/**
 * @param {Uint16Array} source bits of float16
 * @param {Words | Float32Array | Float64Array} target
 */
export function widenHalves(source, target) {
  if (source.length > FEW) singles ??= Float32Array.from({ length: 65536 }, (_, half) => fromHalf(half));
  if (singles) for (let i = 0; i < source.length; i++) target[i] = /** @type {number} */ (singles[source[i] ?? 0]);
  else for (let i = 0; i < source.length; i++) target[i] = fromHalf(source[i] ?? 0);
}

/**
 * @param {BigInt64Array | BigUint64Array} array
 * @param {Words | Float64Array} target
 * @param {string} what
 */
function halve(array, target, what) {
  const pairs = new Int32Array(array.buffer, array.byteOffset, 2 * array.length);
  for (let i = 0; i < array.length; i++) {
    const low = /** @type {number} */ (pairs[2 * i]);
    const high = target instanceof Uint32Array ? 0 : low >> 31;
    if (pairs[2 * i + 1] !== high) {
      const type = target instanceof Uint32Array ? 'uint32' : 'int32';
      throw new RangeError(
        `${what}: element ${i} is ${array[i]}, which does not fit into ${type}, the widest integer of this backend; ` +
          "load({ backend: 'wasm' }) has 64 bits",
      );
    }
    target[i] = low;
  }
}

/**
 * The words of a tensor as an array of the model's `dtype`, which may be the same array.
 * @param {string} dtype
 * @param {Words} source
 */
export function narrow(dtype, source) {
  switch (dtype) {
    case 'float32':
    case 'int32':
    case 'uint32':
      return source;
    case 'float16':
      return Uint16Array.from(source, toHalf);
    case 'float64':
      return Float64Array.from(source);
    case 'int8':
      return Int8Array.from(source);
    case 'int16':
      return Int16Array.from(source);
    case 'uint16':
      return Uint16Array.from(source);
    case 'int64':
    case 'uint64': {
      const pairs = new Int32Array(2 * source.length);
      source.forEach((word, i) => {
        pairs[2 * i] = word;
        pairs[2 * i + 1] = word < 0 ? -1 : 0;
      });
      return typedArray(dtype, pairs.buffer);
    }
    default:
      return Uint8Array.from(source);
  }
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** @param {number} half bits of a float16 */
export function fromHalf(half) {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 31;
  const fraction = half & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

/**
 * Bits of the float16 nearest to a float32, ties to even.
 * @param {number} value
 */
export function toHalf(value) {
  float[0] = value;
  const [word = 0] = bits;
  const sign = (word >>> 16) & 0x8000;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return sign | 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | even(size * 2 ** 24);
  const exponent = (word >>> 23) & 255;
  return sign + ((exponent - 112) << 10) + even((size * 2 ** (127 - exponent) - 1) * 1024);
}

/**
 * The nearest whole number, ties to even.
 * @param {number} value
 */
function even(value) {
  const floor = Math.floor(value);
  const rest = value - floor;
  return floor + (rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? 1 : 0);
}
