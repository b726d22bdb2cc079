// Pictures as inputs: what a page shows or has in files becomes words of red, green, blue and alpha.

import { kindOf } from './check_names.js';

/** @typedef {import('./sizes.js').Spec} Spec */
/** @typedef {{ data: Int32Array, shape: number[] }} Words of pixels, red in the lowest byte, [height, width] */

/** How large a picture is, by its class, in pixels of its file. @type {Readonly<Record<string, (source: any) => number[]>>} */
const sizes = {
  HTMLCanvasElement: ({ width, height }) => [width, height],
  HTMLImageElement: ({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight],
  HTMLVideoElement: ({ videoWidth, videoHeight }) => [videoWidth, videoHeight],
  ImageBitmap: ({ width, height }) => [width, height],
  OffscreenCanvas: ({ width, height }) => [width, height],
  VideoFrame: ({ displayWidth, displayHeight }) => [displayWidth, displayHeight],
};

const files = ['Blob', 'File'];
const bytes = ['Uint8ClampedArray', 'Uint8Array', 'Int32Array'];

const EXPECTED = `a picture (ImageData, ${Object.keys(sizes).join(', ')} or Blob), or { data, shape: [height, width] } with \
red, green, blue and alpha of each pixel in a Uint8ClampedArray`;

/**
 * The inputs with words in place of pictures; a promise of them where a file has to be decoded.
 * @param {readonly Spec[]} specs
 * @param {any} inputs
 * @throws {TypeError} what is no picture, or cannot be read
 */
function replaced(specs, inputs) {
  if (kindOf(inputs) !== 'an object') return inputs;
  /** @type {[string, Words | Promise<Words>][]} */
  const found = [];
  for (const { name, picture } of specs) {
    if (picture !== undefined && Object.hasOwn(inputs, name)) {
      const label = `input ${JSON.stringify(name)}`;
      const words = wordsOf(label, inputs[name], picture);
      if (words) found.push([name, words]);
    }
  }
  const all = (/** @type {readonly [string, Words][]} */ entries) => ({ ...inputs, ...Object.fromEntries(entries) });
  if (!found.some(([, words]) => words instanceof Promise)) return all(/** @type {[string, Words][]} */ (found));
  return Promise.all(found.map(async ([name, words]) => /** @type {[string, Words]} */ ([name, await words]))).then(
    all,
  );
}

/**
 * @param {string} label
 * @param {any} value
 * @param {number} most
 * @returns {Words | Promise<Words> | undefined} undefined for what is on the device
 */
function wordsOf(label, value, most) {
  const kind = kindOf(value);
  if (files.includes(kind)) return decoded(label, value, most);
  if (kind === 'ImageData') return reduced({ data: asWords(value.data), shape: [value.height, value.width] }, most);
  if (kind in sizes) return reduced(drawn(label, kind, value), most);
  if (kind === 'an object' && bytes.includes(kindOf(value.data))) {
    const [height, width, ...more] = Array.isArray(value.shape) ? value.shape : [];
    const data = asWords(value.data);
    if (more.length || !(height > 0) || !(width > 0) || data.length !== height * width)
      throw new TypeError(`${label}: its shape must be [height, width], of four bytes a pixel`);
    return reduced({ data, shape: [height, width] }, most);
  }
  if (kind === 'GPUBuffer' || (kind === 'an object' && kindOf(value.data) === 'GPUBuffer')) return undefined;
  throw new TypeError(`${label}: expected ${EXPECTED}, got ${kind}`);
}

/**
 * @param {string} label
 * @param {Blob} file
 * @param {number} most
 */
async function decoded(label, file, most) {
  /** @type {ImageBitmap} */
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch (error) {
    throw new TypeError(`${label}: the file is no picture that the browser can decode (${error})`);
  }
  try {
    return reduced(drawn(label, 'ImageBitmap', bitmap), most);
  } finally {
    bitmap.close();
  }
}

/** @type {OffscreenCanvas | HTMLCanvasElement | undefined} */
let canvas;

/**
 * The pixels of a picture, over white where it is transparent.
 * @param {string} label
 * @param {string} kind
 * @param {any} source
 * @returns {Words}
 */
function drawn(label, kind, source) {
  const [width = 0, height = 0] = sizes[kind]?.(source) ?? [];
  if (!width || !height) {
    const advice = { HTMLImageElement: ': await image.decode()', HTMLVideoElement: ': await its event loadeddata' };
    const what = /** @type {Record<string, string>} */ (advice)[kind] ?? '';
    throw new TypeError(`${label}: the ${kind} has no pixels${what}`);
  }
  canvas ??= typeof OffscreenCanvas === 'function' ? new OffscreenCanvas(1, 1) : document.createElement('canvas');
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = /** @type {CanvasRenderingContext2D | null} */ (
    canvas.getContext('2d', { alpha: false, willReadFrequently: true })
  );
  if (!context) throw new TypeError(`${label}: the browser has no 2D canvas to read a picture by`);
  context.fillStyle = 'white';
  context.fillRect(0, 0, width, height);
  context.drawImage(source, 0, 0, width, height);
  try {
    return { data: asWords(context.getImageData(0, 0, width, height).data), shape: [height, width] };
  } catch (error) {
    canvas = undefined; // it stays unreadable
    const advice = "serve it with Access-Control-Allow-Origin, and set crossOrigin = 'anonymous' before its src";
    throw new TypeError(`${label}: the pixels of a picture of another origin cannot be read (${error}): ${advice}`);
  }
}

/** @param {Uint8ClampedArray | Uint8Array | Int32Array} data */
function asWords(data) {
  const { buffer, byteOffset, byteLength } = data.byteOffset % 4 ? data.slice() : data;
  return new Int32Array(buffer, byteOffset, Math.floor(byteLength / 4));
}

const FIXED = 2 ** 24; // means are rounded as Pillow does

/**
 * A picture of no more rows or columns than `most`: the means of squares, of as many pixels as it takes.
 * @param {Words} words
 * @param {number} most
 * @returns {Words}
 */
export function reduced({ data, shape: [height = 0, width = 0] }, most) {
  const side = Math.ceil(Math.max(height, width) / most);
  if (side <= 1) return { data, shape: [height, width] };
  const pixels = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const [rows, columns] = [Math.ceil(height / side), Math.ceil(width / side)];
  const means = new Uint8Array(4 * rows * columns).fill(255);
  for (let y = 0; y < rows; y++) {
    const bottom = Math.min((y + 1) * side, height);
    for (let x = 0; x < columns; x++) {
      const right = Math.min((x + 1) * side, width);
      const count = (bottom - y * side) * (right - x * side);
      const factor = Math.floor(FIXED / count);
      for (let c = 0; c < 3; c++) {
        let sum = count >> 1;
        for (let v = y * side; v < bottom; v++)
          for (let u = x * side; u < right; u++) sum += pixels[4 * (v * width + u) + c] ?? 0;
        means[4 * (y * columns + x) + c] = Math.floor((sum * factor) / FIXED);
      }
    }
  }
  return { data: asWords(means), shape: [rows, columns] };
}

export const pictures = { replaced };
