// Pictures as inputs: what a page shows or has in files becomes words of red, green, blue and alpha.

import { kindOf } from './check_names.js';

/** @typedef {import('./sizes.js').Spec} Spec */
/** @typedef {{ data: Int32Array, shape: number[], size?: number[] }} Words of pixels, red in the lowest byte, [height, width];
 * `size` is that before the picture was reduced */
/** @typedef {Words | { data: ImageBitmap, shape: number[], size?: number[], made?: boolean }} Pixels `made`: a bitmap to be closed
 * after the run */

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
 * A run with words of pixels in place of pictures, or with bitmaps, which a GPU takes without their being read. It begins at
 * once, unless a file has to be decoded or a bitmap to be made.
 * @template T
 * @param {readonly Spec[]} specs
 * @param {any} inputs
 * @param {(inputs: any, sizes?: Record<string, readonly number[]>) => Promise<T>} run with the height and width of each
 *   picture, and those before it was reduced
 * @param {boolean} onDevice whether the backend takes bitmaps
 * @returns {Promise<T>}
 * @throws {TypeError} what is no picture, or cannot be read
 */
async function using(specs, inputs, run, onDevice) {
  if (kindOf(inputs) !== 'an object') return run(inputs);
  /** @type {[string, Pixels | Promise<Pixels>][]} */
  const found = [];
  /** @type {Record<string, readonly number[]>} */
  const measured = {};
  for (const { name, picture } of specs) {
    if (picture === undefined || !Object.hasOwn(inputs, name)) continue;
    const pixels = pixelsOf(`input ${JSON.stringify(name)}`, inputs[name], picture, onDevice);
    if (pixels) found.push([name, pixels]);
    else measured[name] = inputs[name].shape ?? [inputs[name].height, inputs[name].width];
  }
  /** @type {[string, Pixels][]} */
  const taken = [];
  for (const [name, pixels] of found) taken.push([name, pixels instanceof Promise ? await pixels : pixels]);
  const plain = taken.map(([name, { data, shape }]) => [name, { data, shape }]);
  for (const [name, { shape, size }] of taken) measured[name] = [...shape, ...(size ?? [])];
  try {
    return await run({ ...inputs, ...Object.fromEntries(plain) }, measured);
  } catch (error) {
    const { name } = /** @type {Error} */ (error);
    const [first] = taken.find(([, pixels]) => 'made' in pixels) ?? [];
    if (first && /^(Security|DataClone)Error$/.test(name)) throw unreadable(`input ${JSON.stringify(first)}`, error);
    throw error;
  } finally {
    for (const [, pixels] of taken) if ('made' in pixels) pixels.data.close();
  }
}

/**
 * @param {string} label
 * @param {any} value
 * @param {number} most
 * @param {boolean} onDevice
 * @returns {Pixels | Promise<Pixels> | undefined} undefined for what is on the device
 */
function pixelsOf(label, value, most, onDevice) {
  const kind = kindOf(value);
  if (files.includes(kind)) return decoded(label, value, most, onDevice);
  if (kind === 'ImageData') return reduced({ data: asWords(value.data), shape: [value.height, value.width] }, most);
  if (kind in sizes) {
    const [width, height] = sizeOf(label, kind, value);
    if (!onDevice || Math.max(width, height) > most) return reduced(drawn(label, kind, value), most);
    if (kind === 'ImageBitmap') return { data: value, shape: [height, width] };
    // Of a picture without a size of its own (SVG), or of a canvas without a context, no bitmap is made: a canvas draws it.
    return createImageBitmap(value, PREMULTIPLIED).then(
      (data) => ({ data, shape: [data.height, data.width], made: true }),
      () => /** @type {Pixels} */ (pixelsOf(label, value, most, false)),
    );
  }
  if (kind === 'an object' && bytes.includes(kindOf(value.data))) {
    const [height, width, ...more] = Array.isArray(value.shape) ? value.shape : [];
    const data = asWords(value.data);
    if (more.length || !(height > 0) || !(width > 0) || data.length !== height * width)
      throw new TypeError(
        `${label}: its shape must be [height, width], of four bytes a pixel; ` +
          `got ${value.data.byteLength} bytes for [${[value.shape].flat().join(', ')}]`,
      );
    return reduced({ data, shape: [height, width] }, most);
  }
  if (/^GPU/.test(kind) || (kind === 'an object' && /^GPU/.test(kindOf(value.data)))) return undefined;
  throw new TypeError(`${label}: expected ${EXPECTED}, got ${kind}`);
}

/**
 * @param {string} label
 * @param {Blob} file
 * @param {number} most
 * @param {boolean} onDevice
 * @returns {Promise<Pixels>}
 */
async function decoded(label, file, most, onDevice) {
  /** @type {ImageBitmap} */
  let data;
  try {
    data = await createImageBitmap(file, PREMULTIPLIED);
  } catch (error) {
    throw new TypeError(`${label}: the file is no picture that can be decoded here (${error})`);
  }
  const { width, height } = data;
  if (onDevice && Math.max(width, height) <= most) return { data, shape: [height, width], made: true };
  try {
    return reduced(drawn(label, 'ImageBitmap', data), most);
  } finally {
    data.close();
  }
}

const PREMULTIPLIED = /** @type {const} */ ({ premultiplyAlpha: 'premultiply' }); // as pictures are put over white

/**
 * @param {string} label
 * @param {string} kind
 * @param {any} source
 * @returns {[number, number]} width and height
 */
function sizeOf(label, kind, source) {
  const [width = 0, height = 0] = sizes[kind]?.(source) ?? [];
  if (width && height) return [width, height];
  const advice = { HTMLImageElement: ': await image.decode()', HTMLVideoElement: ': await its event loadeddata' };
  const what = /** @type {Record<string, string>} */ (advice)[kind] ?? '';
  throw new TypeError(`${label}: the ${kind} has no pixels${what}`);
}

/**
 * @param {string} label
 * @param {unknown} error
 */
function unreadable(label, error) {
  const advice = "serve it with Access-Control-Allow-Origin, and set crossOrigin = 'anonymous' before its src";
  return new TypeError(`${label}: the pixels of a picture of another origin cannot be read (${error}): ${advice}`);
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
export function drawn(label, kind, source) {
  const [width, height] = sizeOf(label, kind, source);
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
    throw unreadable(label, error);
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
  return { data: asWords(means), shape: [rows, columns], size: [height, width] };
}

export const pictures = { using };
