// Masks: the class of each pixel of a picture.

import { axesOf } from './frame.js';

/** @typedef {import('./frame.js').Axis} Axis */

/**
 * For each pixel of the picture along an axis the place in a mask of `count`, or -1 for none.
 * @param {Axis} axis
 * @param {number} pixels of the input
 * @param {number} count
 */
function sources([first, scale, length], pixels, count) {
  return Int32Array.from({ length }, (_, i) => {
    const at = Math.floor((((i + 0.5) / scale - first) * count) / pixels);
    return at < 0 || at >= count ? -1 : at;
  });
}

/**
 * A mask in the picture that was given: class 0 where the model saw nothing.
 * @param {Uint8Array} small
 * @param {{ frame: import('./frame.js').Frame, rows: number, columns: number }} spec
 * @param {[Axis, Axis]} axes
 * @returns {import('../model.js').Mask}
 */
export function maskOf(small, { frame, rows, columns }, [across, down]) {
  const [xs, ys] = [sources(across, frame.columns, columns), sources(down, frame.rows, rows)];
  const [width, height] = [xs.length, ys.length];
  const classes = new Uint8Array(width * height);
  for (const [v, y] of ys.entries())
    if (y >= 0)
      for (let u = 0; u < width; u++) {
        const x = xs[u] ?? -1;
        if (x >= 0) classes[v * width + u] = small[y * columns + x] ?? 0;
      }
  return { width, height, classes, toImageData: () => coloured(width, height, classes) };
}

/**
 * A colour for each class, and nothing for class 0.
 * @param {number} width
 * @param {number} height
 * @param {Uint8Array} classes
 */
function coloured(width, height, classes) {
  const image = new ImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  const colours = Uint32Array.from({ length: 256 }, (_, i) => (i ? colourOf(i) : 0));
  for (let i = 0; i < words.length; i++) words[i] = colours[classes[i] ?? 0] ?? 0;
  return image;
}

/**
 * A word of red, green, blue and alpha, half transparent: hues of classes nearby are far from each other.
 * @param {number} index
 */
function colourOf(index) {
  const channel = (/** @type {number} */ turn) =>
    Math.round(127.5 + 127.5 * Math.cos(2 * Math.PI * (index * 0.618 + turn / 3)));
  return ((160 << 24) | (channel(0) << 16) | (channel(1) << 8) | channel(2)) >>> 0;
}

/** @type {import('./answers.js').Kind} with the labels of its classes, where there are any */
export const mask = ({ classes }, _, spec, sizes, labels) => {
  const one = maskOf(classes, spec, axesOf(spec.frame, sizes?.[spec.frame.input]));
  return labels ? { ...one, labels } : one;
};
