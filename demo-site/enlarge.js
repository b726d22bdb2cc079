// Enlarge: the middle of a picture as the browser enlarges it, and as a network does.

import { createPictureSource } from './picture_source.js';
import { fail, showModel, startModel } from './start_model.js';
import { element } from './view.js';

const result = element('result', HTMLOutputElement);
const plain = element('plain', HTMLCanvasElement);
const enlarged = element('picture', HTMLCanvasElement);

startModel('models/enlarge').then(use).catch(fail);

/** @param {import('./start_model.js').Model} model */
function use(model) {
  const [input, output] = [model.inputs[0], model.outputs[0]];
  if (!input || !output) throw new Error('the model has no input or no output');
  const [, channels = 1, height = 0, width = 0] = input.shape.map(Number);
  const [, , rows = 0, columns = 0] = output.shape.map(Number);
  createPictureSource(element('source', HTMLElement), async (picture) => {
    result.ariaBusy = 'true';
    const small = pixels(middle(picture, width, height), width, height);
    const large = pixels(small, columns, rows);
    const began = performance.now();
    const values = (await model.run({ [input.name]: planes(small.data, channels) }))[output.name];
    const milliseconds = performance.now() - began;
    paint(plain, large);
    paint(enlarged, merge(large, /** @type {Float32Array} */ (values), channels));
    result.textContent = `${width} x ${height} to ${columns} x ${rows}`;
    result.ariaBusy = 'false';
    showModel(model.info(), milliseconds);
  });
}

/**
 * Cuts the middle of a picture in the proportions of the model's input.
 *
 * @param {ImageBitmap} picture
 * @param {number} width
 * @param {number} height
 */
function middle(picture, width, height) {
  const scale = Math.min(picture.width / width, picture.height / height);
  const [w, h] = [width * scale, height * scale];
  const { context } = clear(width, height);
  context.drawImage(picture, (picture.width - w) / 2, (picture.height - h) / 2, w, h, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

/**
 * Resizes a picture as the browser does.
 *
 * @param {ImageData} picture
 * @param {number} width
 * @param {number} height
 */
function pixels(picture, width, height) {
  const source = clear(picture.width, picture.height);
  source.context.putImageData(picture, 0, 0);
  const { context } = clear(width, height);
  context.drawImage(source.canvas, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

/**
 * @param {number} width
 * @param {number} height
 */
function clear(width, height) {
  const canvas = Object.assign(document.createElement('canvas'), { width, height });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true }));
  context.imageSmoothingQuality = 'high';
  context.fillStyle = 'white'; // where a picture is transparent
  context.fillRect(0, 0, width, height);
  return { canvas, context };
}

/**
 * Brightness by Rec. 601, 0 to 255.
 *
 * @param {Uint8ClampedArray} data
 * @param {number} at
 */
const brightness = (data, at) => 0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);

/**
 * @param {Uint8ClampedArray} data red, green, blue and alpha of each pixel
 * @param {number} channels 1: of brightness; 3: of red, green and blue
 * @returns {Float32Array} from 0 to 1
 */
function planes(data, channels) {
  const plane = data.length / 4;
  return Float32Array.from({ length: channels * plane }, (_, i) => {
    const at = 4 * (i % plane);
    return (channels === 1 ? brightness(data, at) : (data[at + Math.floor(i / plane)] ?? 0)) / 255;
  });
}

/**
 * Makes a picture of the values. Of a model of brightness the colours are those of the browser's enlargement: the
 * difference in brightness is added to each of red, green and blue.
 *
 * @param {ImageData} large
 * @param {Float32Array} values
 * @param {number} channels
 */
function merge({ data, width, height }, values, channels) {
  const merged = new ImageData(width, height);
  const plane = width * height;
  for (let i = 0; i < plane; i++) {
    const added = channels === 1 ? 255 * (values[i] ?? 0) - brightness(data, 4 * i) : 0;
    for (let c = 0; c < 3; c++)
      merged.data[4 * i + c] = channels === 1 ? (data[4 * i + c] ?? 0) + added : 255 * (values[c * plane + i] ?? 0);
    merged.data[4 * i + 3] = 255;
  }
  return merged;
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ImageData} picture
 */
function paint(canvas, picture) {
  Object.assign(canvas, { width: picture.width, height: picture.height });
  canvas.getContext('2d')?.putImageData(picture, 0, 0);
}
