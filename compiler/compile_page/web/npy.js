// Files of NumPy's format .npy: one array each, little-endian and row-major.

import { constructorOf, lengthOf } from './tensor_values.js';

/** @typedef {import('./tensor_values.js').TypedArray} TypedArray */
/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */

const dtypes = /** @type {Record<string, string>} */ ({
  '<f2': 'float16',
  '<f4': 'float32',
  '<f8': 'float64',
  '|i1': 'int8',
  '<i2': 'int16',
  '<i4': 'int32',
  '<i8': 'int64',
  '|u1': 'uint8',
  '<u2': 'uint16',
  '<u4': 'uint32',
  '<u8': 'uint64',
  '|b1': 'bool',
});
const MAGIC = '\x93NUMPY';

/** @param {readonly number[]} shape */
const shapeText = (shape) => `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`;
/** @param {readonly number[]} shape */
const withoutOnes = (shape) => shape.filter((extent) => extent !== 1).join();

/**
 * Whether a shape is an input's. Dimensions of one may be missing or too many, as that of the batch.
 * @param {readonly number[]} shape
 * @param {readonly number[]} input
 */
export const fits = (shape, input) =>
  shape.length === input.length ? shape.join() === input.join() : withoutOnes(shape) === withoutOnes(input);

/**
 * @param {ArrayBuffer} buffer
 * @returns {{ dtype: string, shape: number[], array: TypedArray }}
 */
export function readNpy(buffer) {
  const bytes = new Uint8Array(buffer);
  const text = (/** @type {number} */ from, /** @type {number} */ to) =>
    String.fromCharCode(...bytes.subarray(from, Math.min(to, from + 10_000)));
  if (bytes.length < 12 || text(0, 6) !== MAGIC) throw new Error('it is no .npy file: save it by numpy.save');
  const view = new DataView(buffer);
  const major = view.getUint8(6);
  if (major < 1 || major > 3) throw new Error(`version ${major} of the format .npy is not known here`);
  const from = major === 1 ? 10 : 12;
  const data = from + (major === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  const header = text(from, data);
  const descr = header.match(/'descr': '([^']*)'/)?.[1];
  const order = header.match(/'fortran_order': (True|False)/)?.[1];
  const extents = header.match(/'shape': \(([\d, ]*)\)/)?.[1];
  if (descr === undefined || order === undefined || extents === undefined || data > bytes.length) {
    throw new Error('its header cannot be read: it must be one plain array, saved by numpy.save');
  }
  if (order === 'True') throw new Error('it is in Fortran order: save numpy.ascontiguousarray(x)');
  if (descr.startsWith('>'))
    throw new Error(`it is big-endian (${descr}): save x.astype('${descr.replace('>', '<')}')`);
  const dtype = dtypes[descr];
  if (!dtype) throw new Error(`its element type ${descr} is not one of ${Object.keys(dtypes).join(', ')}`);
  const shape = (extents.match(/\d+/g) ?? []).map(Number);
  const Constructor = constructorOf(dtype);
  const expected = lengthOf(shape) * Constructor.BYTES_PER_ELEMENT;
  if (bytes.length - data !== expected) {
    throw new Error(
      `it has ${bytes.length - data} bytes of values, and its shape ${shapeText(shape)} needs ${expected}`,
    );
  }
  return { dtype, shape, array: new Constructor(buffer.slice(data)) };
}

/**
 * @typedef {object} Contents Of a file.
 * @property {string} file its name
 * @property {string} dtype
 * @property {readonly number[]} shape
 * @property {TypedArray} array
 */

/**
 * @param {File} file
 * @returns {Promise<Contents>}
 */
export async function readFile(file) {
  try {
    return { file: file.name, ...readNpy(await file.arrayBuffer()) };
  } catch (error) {
    throw new Error(`${file.name}: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * The values of a file for an input of a model.
 * @param {TensorInfo} tensor
 * @param {Contents} contents
 */
export function valuesFor(tensor, { file, dtype, shape, array }) {
  const problem =
    dtype !== tensor.dtype
      ? `it has ${dtype}, the input needs ${tensor.dtype}: save x.astype('${tensor.dtype}')`
      : !fits(shape, tensor.shape)
        ? `it has the shape ${shapeText(shape)}, the input needs ${shapeText(tensor.shape)}`
        : '';
  if (problem) throw new Error(`${file} for the input ${tensor.name}: ${problem}`);
  return array;
}

/**
 * @param {TensorInfo} tensor
 * @param {TypedArray} array
 */
export function writeNpy({ dtype, shape }, array) {
  const descr = Object.keys(dtypes).find((key) => dtypes[key] === dtype);
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shapeText(shape)}, }`;
  const length = Math.ceil((10 + text.length + 1) / 64) * 64 - 10;
  const head = new Uint8Array(10 + length);
  const padded = `${text.padEnd(length - 1)}\n`;
  const codes = `${MAGIC}\x01\x00${String.fromCharCode(length & 255, length >> 8)}${padded}`;
  for (let i = 0; i < codes.length; i++) head[i] = codes.charCodeAt(i);
  const values = new Uint8Array(array.byteLength);
  values.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return new Blob([head, values], { type: 'application/octet-stream' });
}
