// Tensors as arrays: by element type, made up, and as plain numbers.

/** @typedef {import('../../../runtime-js/model.js').TypedArray} TypedArray */
/** @typedef {import('../../../runtime-js/model.js').TensorInfo<string, string, readonly number[]>} TensorInfo as one run has it */

/** float16 is there as bits: not every browser has a Float16Array. */
const constructors = {
  float16: Uint16Array,
  float32: Float32Array,
  float64: Float64Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

/** @param {string} dtype */
export function constructorOf(dtype) {
  const type = constructors[/** @type {keyof typeof constructors} */ (dtype)];
  if (!type) throw new TypeError(`no element type ${dtype}`);
  return type;
}

/** @param {readonly number[]} shape */
export const lengthOf = (shape) => shape.reduce((product, extent) => product * extent, 1);

/**
 * @param {TensorInfo} tensor
 * @returns {TypedArray}
 */
export const zeros = ({ dtype, shape }) => new (constructorOf(dtype))(lengthOf(shape));

/**
 * Floats from the normal distribution; pixels of all colours; other integers 0 or 1, which are in range where they are
 * indices, too.
 * @param {TensorInfo} tensor
 * @param {number} seed the same values for the same seed
 */
export function randomValues(tensor, seed) {
  const array = zeros(tensor);
  const uniform = createUniform(seed);
  const value = { float16: () => halfBits(normal(uniform)), float32: () => normal(uniform) }[tensor.dtype];
  const word = tensor.picture === undefined ? undefined : () => (uniform() * 2 ** 32) | 0;
  const drawn = value ?? word ?? (tensor.dtype === 'float64' ? () => normal(uniform) : () => (uniform() < 0.5 ? 0 : 1));
  if (array instanceof BigInt64Array || array instanceof BigUint64Array) {
    for (let i = 0; i < array.length; i++) array[i] = BigInt(drawn());
  } else {
    for (let i = 0; i < array.length; i++) array[i] = drawn();
  }
  return array;
}

/**
 * The values as numbers; the array itself where it has them.
 * @param {string} dtype
 * @param {TypedArray} array
 * @returns {ArrayLike<number>}
 */
export function numbersOf(dtype, array) {
  if (dtype === 'float16' && array instanceof Uint16Array) return Float32Array.from(array, fromHalfBits);
  if (array instanceof BigInt64Array || array instanceof BigUint64Array) return Float64Array.from(array, Number);
  return array;
}

/** @param {() => number} uniform */
function normal(uniform) {
  const radius = Math.sqrt(-2 * Math.log(1 - uniform())); // Box and Muller's
  return radius * Math.cos(2 * Math.PI * uniform());
}

/**
 * Mulberry32.
 * @param {number} seed
 * @returns {() => number} from [0, 1)
 */
function createUniform(seed) {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param {number} bits */
function fromHalfBits(bits) {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction);
}

/** @param {number} value well within the range of float16 */
function halfBits(value) {
  const size = Math.abs(value);
  const sign = value < 0 ? 0x8000 : 0;
  if (size < 2 ** -14) return sign | Math.round(size * 2 ** 24);
  const exponent = Math.floor(Math.log2(size));
  // A fraction that rounds up to 1024 carries into the exponent, as it should.
  return sign | (((exponent + 15) << 10) + Math.round((size / 2 ** exponent - 1) * 1024));
}
