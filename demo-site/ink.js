// From a drawing to the input of the model: what happened to the digits that the model was trained on.

/** @typedef {{ x: number, y: number }} Point */

const SIDE = 32; // the grid that a digit is set on, and the model's input
const CELLS = 8; // the grid that the training data keeps
const BLOCK = SIDE / CELLS;
const PEN_RADIUS = 2.2; // measured on the data: a stroke covers about 4.4 of 32 pixels
const MAX_WIDTH = 24; // digits of the data are as high as the grid and seldom wider than this
const MAX_STRETCH = 2.5; // how much more a flat drawing may grow in height than in width

/**
 * Sets a drawing as the makers of the training data set handwriting: scaled to the height of a 32 x 32 grid, inked in
 * black and white, and counted in blocks of 4 x 4. Strokes, not pixels, are scaled: the pen is as broad at every size.
 *
 * @param {readonly Point[][]} strokes in any unit, y downwards; at least one point
 * @returns {number[]} 8 x 8 cells, row by row, 0 (paper) to 16 (ink)
 */
export function countInk(strokes) {
  const placed = place(strokes);
  const inked = (/** @type {number} */ x, /** @type {number} */ y) =>
    placed.some((stroke) => touches(stroke, x + 0.5, y + 0.5));
  return Array.from({ length: CELLS * CELLS }, (_, cell) => {
    const left = (cell % CELLS) * BLOCK;
    const top = Math.floor(cell / CELLS) * BLOCK;
    let ink = 0;
    for (let y = top; y < top + BLOCK; y++) for (let x = left; x < left + BLOCK; x++) ink += Number(inked(x, y));
    return ink;
  });
}

/**
 * As `preprocess` in examples/digits/digits.py enlarges: linear between the centres of cells, in steps of 1/255.
 *
 * @param {ArrayLike<number>} cells 8 x 8, 0 to 16
 * @returns {Float32Array<ArrayBuffer>} 32 x 32, 0 to 1
 */
export function enlarge(cells) {
  return Float32Array.from({ length: SIDE * SIDE }, (_, pixel) => {
    let value = 0;
    for (const [row, down] of neighbours(Math.floor(pixel / SIDE)))
      for (const [column, across] of neighbours(pixel % SIDE))
        value += (down * across * (cells[row * CELLS + column] ?? 0)) / 16;
    return Math.round(value * 255) / 255;
  });
}

/**
 * @param {readonly Point[][]} strokes
 * @returns {Point[][]} the strokes in the middle of the 32 x 32 grid, as high as it
 */
function place(strokes) {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of strokes.flat()) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  }
  const room = 1e-3; // keeps a straight line and a dot, which have no width or height, from an endless scale
  const widest = (MAX_WIDTH - 2 * PEN_RADIUS) / (right - left + room);
  const down = Math.min((SIDE - 2 * PEN_RADIUS) / (bottom - top + room), MAX_STRETCH * widest);
  const across = Math.min(down, widest);
  return strokes.map((stroke) =>
    stroke.map(({ x, y }) => ({
      x: SIDE / 2 + (x - (left + right) / 2) * across,
      y: SIDE / 2 + (y - (top + bottom) / 2) * down,
    })),
  );
}

/**
 * Whether the pen, drawn along the stroke, covers the point.
 *
 * @param {Point[]} stroke
 * @param {number} x
 * @param {number} y
 */
function touches(stroke, x, y) {
  return stroke.some((end, i) => {
    const start = stroke[i - 1] ?? end;
    const [dx, dy] = [end.x - start.x, end.y - start.y];
    const along = ((x - start.x) * dx + (y - start.y) * dy) / (dx * dx + dy * dy || 1);
    const t = Math.min(1, Math.max(0, along));
    return Math.hypot(x - start.x - t * dx, y - start.y - t * dy) <= PEN_RADIUS;
  });
}

/**
 * The two cells that a pixel of the enlarged image lies between, each with its weight.
 *
 * @param {number} pixel
 * @returns {[number, number][]}
 */
function neighbours(pixel) {
  const position = Math.min(CELLS - 1, Math.max(0, (pixel + 0.5) / BLOCK - 0.5));
  const first = Math.min(CELLS - 2, Math.floor(position));
  return [
    [first, first + 1 - position],
    [first + 1, position - first],
  ];
}
