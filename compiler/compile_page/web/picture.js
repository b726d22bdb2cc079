// From a picture to an input of a model.

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {{ name: string, shape: readonly number[], height: number, width: number, channels: 1 | 3, planar: boolean }} PictureInput */
/**
 * @typedef {object} PixelOptions
 * @property {readonly number[]} mean of red, green and blue, or of grey alone
 * @property {readonly number[]} deviation
 * @property {number} scale what white is before mean and deviation: 1 or 255
 * @property {boolean} reversed blue, green, red
 */

const LEAST = 8; // what has fewer rows or columns is no picture

/**
 * The one input that a picture can fill.
 * @param {readonly TensorInfo[]} inputs
 * @returns {PictureInput | undefined} also undefined where there are several
 */
export function pictureInput(inputs) {
  const pictures = inputs.map(asPicture).filter((one) => one !== undefined);
  return pictures.length === 1 ? pictures[0] : undefined;
}

/**
 * @param {TensorInfo} tensor
 * @returns {PictureInput | undefined}
 */
function asPicture({ name, dtype, shape }) {
  const [n, a = 0, b = 0, c = 0, ...more] = shape;
  if (dtype !== 'float32' || n !== 1 || more.length) return undefined;
  if ((a === 1 || a === 3) && b >= LEAST && c >= LEAST)
    return { name, shape, height: b, width: c, channels: a, planar: true };
  if ((c === 1 || c === 3) && a >= LEAST && b >= LEAST)
    return { name, shape, height: a, width: b, channels: c, planar: false };
  return undefined;
}

/**
 * Draws a picture as large as the input. 'crop' takes the middle as networks for ImageNet do: of 256 rows or columns of
 * the shorter side the inner 224.
 * @param {HTMLCanvasElement} canvas
 * @param {CanvasImageSource} source
 * @param {{ width: number, height: number }} size of the source
 * @param {PictureInput} input
 * @param {string} fit 'crop' or 'stretch'
 * @returns {Uint8ClampedArray} red, green, blue and alpha of each pixel
 */
export function drawPicture(canvas, source, size, { width, height }, fit) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (!context) throw new Error('the browser has no 2D canvas');
  const scale = (256 / 224) * Math.max(width / size.width, height / size.height);
  const drawn = fit === 'crop' ? [size.width * scale, size.height * scale] : [width, height];
  const [w = width, h = height] = drawn;
  context.imageSmoothingQuality = 'high';
  context.fillStyle = 'white'; // where the picture is transparent
  context.fillRect(0, 0, width, height);
  context.drawImage(source, (width - w) / 2, (height - h) / 2, w, h);
  return context.getImageData(0, 0, width, height).data;
}

/**
 * @param {Uint8ClampedArray} data red, green, blue and alpha of each pixel
 * @param {PictureInput} input
 * @param {PixelOptions} options
 */
export function pixelsToTensor(data, { width, height, channels, planar }, { mean, deviation, scale, reversed }) {
  const pixels = width * height;
  const tensor = new Float32Array(channels * pixels);
  for (let c = 0; c < channels; c++) {
    const m = mean[c] ?? 0;
    const d = deviation[c] ?? 1;
    const place = reversed ? channels - 1 - c : c;
    for (let i = 0; i < pixels; i++) {
      const value = channels === 3 ? (data[4 * i + c] ?? 0) : grey(data, 4 * i);
      tensor[planar ? place * pixels + i : i * channels + place] = ((value * scale) / 255 - m) / d;
    }
  }
  return tensor;
}

/**
 * How bright a pixel is, by the weights of Rec. 601.
 * @param {Uint8ClampedArray} data
 * @param {number} at
 */
const grey = (data, at) => 0.299 * (data[at] ?? 0) + 0.587 * (data[at + 1] ?? 0) + 0.114 * (data[at + 2] ?? 0);
