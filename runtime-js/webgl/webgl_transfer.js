// Between arrays and textures: flat placements go by whole rows, one rectangle a layer, or as a part of one row.
import { words } from '../values/convert.js';
import { formatOf } from './webgl_context.js';

/** @typedef {import('../values/convert.js').Words} Words */

/** Texels in a row of a flat texture, and its most rows: TEXTURE_SIZE of compiler/target.py. */
export const ROW = 2048;

/**
 * The texels of a flat value.
 * @param {number} length elements
 */
export function rectangles(length) {
  const parts = [];
  let texels = Math.ceil(length / 4);
  for (let layer = 0; texels > 0; layer++) {
    const width = layer ? ROW : Math.min(texels, ROW);
    const height = Math.min(Math.ceil(texels / width), ROW);
    parts.push({ width, height, layer, bytes: 16 * width * height });
    texels -= width * height;
  }
  return parts;
}

/** @param {number} length elements */
export const wordsOf = (length) => rectangles(length).reduce((sum, { bytes }) => sum + bytes, 0) / 4;

/** @type {(size: readonly [number, number, number], data: Words) => boolean} */
const fills = ([width, height, layers], data) => data.length === width * height * layers * 4;

/**
 * `data` as it can be uploaded: itself, or in `kept`, which is large enough, or a new array that ends with a row.
 * @param {string} dtype
 * @param {readonly [number, number, number]} size of the texture
 * @param {Words} data
 * @param {Words | undefined} kept
 */
export function wholeRows(dtype, size, data, kept) {
  const length = wordsOf(data.length);
  if (length === data.length || fills(size, data)) return data;
  const room = kept ?? words(dtype, length);
  const whole = room.length === length ? room : /** @type {Words} */ (room.subarray(0, length));
  whole.set(/** @type {any} */ (data));
  return whole;
}

/**
 * @param {WebGL2RenderingContext} gl
 * @param {WebGLTexture} texture
 * @param {string} dtype
 * @param {readonly [number, number, number]} size of the texture
 * @param {Words} data all of the texture, or whole rows
 */
export function upload(gl, texture, dtype, size, data) {
  const [, format, type] = formatOf(gl, dtype);
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
  if (fills(size, data)) {
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, 0, ...size, format, type, data);
    return;
  }
  let at = 0;
  for (const { width, height, layer, bytes } of rectangles(data.length)) {
    gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, width, height, 1, format, type, data, at);
    at += bytes / 4;
  }
}

/** @typedef {import('../device/buffer_pool.js').Pool<WebGLBuffer>} Staging */

/**
 * A way to read a flat value again and again.
 * @param {WebGL2RenderingContext} gl
 * @param {string} dtype
 * @param {number} length
 * @param {(layer: number) => WebGLFramebuffer} framebufferOf
 * @param {boolean} later whether the GPU is to copy it first, so that no call waits for it
 * @param {Staging} [pool] of buffers for that, where it has none of its own
 */
export function createReader(gl, dtype, length, framebufferOf, later, pool) {
  const [, format, type] = formatOf(gl, dtype);
  const partsOf = (/** @type {number} */ count) =>
    rectangles(count).map((part) => ({ ...part, framebuffer: framebufferOf(part.layer) }));
  const whole = partsOf(length);
  const bytes = 4 * wordsOf(length);
  let pixels = later && bytes && !pool ? gl.createBuffer() : null;
  /** @type {(use: () => void) => void} */
  const withPixels = (use) => {
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, pixels);
    use();
    gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
  };
  if (pixels) withPixels(() => gl.bufferData(gl.PIXEL_PACK_BUFFER, bytes, gl.DYNAMIC_COPY));
  /** @param {number} count @param {(part: { width: number, height: number }, at: number) => void} read */
  const each = (count, read) => {
    let at = 0;
    for (const part of count === length ? whole : partsOf(count)) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, part.framebuffer);
      read(part, at);
      at += part.bytes;
    }
  };
  return {
    // <states>
    bytes,
    // </states>
    /**
     * Queues the copy of what is to be read: the first `count` elements.
     * @param {number} [count]
     */
    begin(count = length) {
      // <states>
      if (pool) pixels = later && count ? pool.take(bytes) : null;
      // </states>
      if (!pixels) return;
      withPixels(() => each(count, ({ width, height }, at) => gl.readPixels(0, 0, width, height, format, type, at)));
    },
    /**
     * @param {number} [count]
     * @returns {Words}
     */
    end(count = length) {
      const all = words(dtype, wordsOf(count));
      if (!count) return all;
      if (pixels) withPixels(() => gl.getBufferSubData(gl.PIXEL_PACK_BUFFER, 0, all));
      else each(count, ({ width, height }, at) => gl.readPixels(0, 0, width, height, format, type, all, at / 4));
      // <states>
      if (pixels) pool?.give(bytes, pixels);
      // </states>
      return all.length === count ? all : /** @type {Words} */ (all.slice(0, count));
    },
    dispose: () => gl.deleteBuffer(pixels),
  };
}
