// Where pixels of an input are in the picture that fills it.

/** @typedef {{ input: string, rows: number, columns: number, resize?: string, whole?: [number, number] }} Frame without
 * `resize` for an input that no picture fills; of `whole`, rows and columns, a crop takes the middle */
/** @typedef {readonly [first: number, scale: number, length: number]} Axis coordinates of a picture are (those of the input +
 * first) * scale, up to a length */

const LONGEST = 2 ** 14; // as the model resizes
const NARROWEST = 64;

/**
 * How long a side becomes, and the first of its pixels that is taken.
 * @param {string} resize
 * @param {readonly number[]} side pixels, those of the input, and those of which a crop takes the middle
 * @param {readonly number[]} other
 * @returns {[number, number]}
 */
function place(resize, [n = 1, count = 1, whole = 1], [others = 1, otherCount = 1, otherWhole = 1]) {
  if (resize === 'crop') {
    const resized = Math.min(Math.max(Math.floor((otherWhole * n) / others), whole), LONGEST);
    return [resized, roundEven((resized - count) / 2)];
  }
  if (!resize.startsWith('letterbox')) return [count, 0];
  const fitting = Math.floor((2 * n * otherCount + others) / (2 * others));
  const resized = Math.min(Math.max(fitting, Math.floor(count / NARROWEST), 1), count);
  return [resized, resize === 'letterbox' ? 0 - Math.floor((count - resized) / 2) : 0];
}

/**
 * Halves to the even number, as Python rounds.
 * @param {number} value
 */
const roundEven = (value) => (value % 2 === 0.5 ? value - 0.5 : Math.round(value));

/**
 * @param {Frame} frame
 * @param {readonly number[]} [size] height and width of the picture as the model takes it, then its own
 * @returns {[Axis, Axis]} of x and y
 */
export function axesOf({ rows, columns, resize, whole }, size) {
  if (!resize || !whole || !size)
    return [
      [0, 1, columns],
      [0, 1, rows],
    ];
  const [height = 1, width = 1, ownHeight = height, ownWidth = width] = size;
  const [down, across] = [
    [height, rows, whole[0]],
    [width, columns, whole[1]],
  ];
  const [[wide, left], [high, top]] = [place(resize, across, down), place(resize, down, across)];
  return [
    [left, ownWidth / wide, ownWidth],
    [top, ownHeight / high, ownHeight],
  ];
}

/**
 * The coordinate in the picture, or the nearest one.
 * @param {Axis} axis
 * @param {number} coordinate
 */
export const inside = ([first, scale, length], coordinate) =>
  Math.min(Math.max((coordinate + first) * scale, 0), length);
