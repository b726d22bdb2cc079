// Outputs that are pictures: one channel or three, drawn.

const LEAST = 4;

/** @param {import('./tensor_values.js').TensorInfo} tensor */
export function isPicture({ shape: [n, channels, height = 0, width = 0, ...more] }) {
  const large = height >= LEAST && width >= LEAST && height * width <= 4096 * 4096;
  return n === 1 && (channels === 1 || channels === 3) && large && more.length === 0;
}

/**
 * The values of black and white: 0 and 1 or 0 and 255 where all values lie between these, else the least and the
 * largest.
 * @param {number} least
 * @param {number} largest
 */
export function rangeOf(least, largest) {
  if (least >= 0 && largest <= 1) return [0, 1];
  if (least >= 0 && largest <= 255) return [0, 255];
  return [least, largest];
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {readonly number[]} shape
 * @param {ArrayLike<number>} values
 * @param {readonly number[]} range
 */
export function drawOutput(canvas, [, channels = 1, height = 1, width = 1], values, [black = 0, white = 1]) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const context = canvas.getContext('2d');
  if (!context) throw new Error('the browser has no 2D canvas');
  const pixels = context.createImageData(width, height);
  const plane = width * height;
  const scale = 255 / (white - black || 1);
  for (let i = 0; i < plane; i++) {
    for (let c = 0; c < 3; c++) {
      pixels.data[4 * i + c] = ((values[(c % channels) * plane + i] ?? 0) - black) * scale;
    }
    pixels.data[4 * i + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
}
