// The element types and the typed arrays that hold them.

/** @typedef {{ name: string, bytes: number, arrays: readonly string[] }} Element `arrays[0]` is what outputs come in. */

/** @type {Readonly<Record<string, Element>>} */
const elements = Object.fromEntries(
  [
    { name: 'float16', bytes: 2, arrays: ['Uint16Array', 'Float16Array'] }, // as bits where the browser has no Float16Array
    { name: 'float32', bytes: 4, arrays: ['Float32Array'] },
    { name: 'float64', bytes: 8, arrays: ['Float64Array'] },
    { name: 'int8', bytes: 1, arrays: ['Int8Array'] },
    { name: 'int16', bytes: 2, arrays: ['Int16Array'] },
    { name: 'int32', bytes: 4, arrays: ['Int32Array'] },
    { name: 'int64', bytes: 8, arrays: ['BigInt64Array'] },
    { name: 'uint8', bytes: 1, arrays: ['Uint8Array', 'Uint8ClampedArray'] },
    { name: 'uint16', bytes: 2, arrays: ['Uint16Array'] },
    { name: 'uint32', bytes: 4, arrays: ['Uint32Array'] },
    { name: 'uint64', bytes: 8, arrays: ['BigUint64Array'] },
    { name: 'bool', bytes: 1, arrays: ['Uint8Array'] },
  ].map((element) => [element.name, element]),
);

/** @type {Readonly<Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => import('../model.js').TypedArray>>} */
const constructors = {
  Float32Array,
  Float64Array,
  Int8Array,
  Int16Array,
  Int32Array,
  BigInt64Array,
  Uint8Array,
  Uint16Array,
  Uint32Array,
  BigUint64Array,
};

/**
 * @param {string} dtype
 * @returns {Element}
 */
export function elementOf(dtype) {
  const element = elements[dtype];
  if (!element) throw new TypeError(`no element type ${dtype}`);
  return element;
}

/**
 * @param {readonly number[]} shape
 * @returns {number}
 */
export const lengthOf = (shape) => shape.reduce((product, extent) => product * extent, 1);

/**
 * The bytes of one tensor as the typed array of its dtype.
 * @param {string} dtype
 * @param {ArrayBuffer} buffer
 * @param {number} [offset]
 * @param {number} [bytes]
 */
export function typedArray(dtype, buffer, offset = 0, bytes = buffer.byteLength - offset) {
  const { bytes: size, arrays } = elementOf(dtype);
  const Constructor = constructors[/** @type {string} */ (arrays[0])];
  return new /** @type {NonNullable<typeof Constructor>} */ (Constructor)(buffer, offset, bytes / size);
}

/**
 * The bytes of a view, in a buffer of their own.
 * @param {ArrayBufferView} view
 */
export const copyOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength).slice();

/** @type {(inputs: import('../start_session.js').Input[]) => any[]} with copies of arrays, which are the caller's */
export const copiesOf = (inputs) => inputs.map((input) => (ArrayBuffer.isView(input) ? copyOf(input) : input));

/** @type {Readonly<Record<string, string>>} Of classes of the platform, a getter that throws for all other objects. */
const getters = {
  AbortSignal: 'aborted',
  GPUBuffer: 'size',
  GPUDevice: 'limits',
  GPUTexture: 'width',
  ImageBitmap: 'width',
};

/**
 * The class of an object, also of one from another window, and of one that only says so by Symbol.toStringTag, 'Object'.
 * @param {unknown} value
 * @returns {string}
 */
export function tagOf(value) {
  const tag = Object.prototype.toString.call(value).slice(8, -1);
  const getter = getters[tag];
  try {
    if (getter) Reflect.get(/** @type {any} */ (globalThis)[tag].prototype, getter, value);
    else if (/Array$/.test(tag) && !Array.isArray(value))
      return Reflect.get(TypedArray.prototype, Symbol.toStringTag, value) ?? 'Object';
    return tag;
  } catch {
    return 'Object';
  }
}

const TypedArray = Object.getPrototypeOf(Uint8Array);
