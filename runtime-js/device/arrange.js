// Constants that the bundle stores in another order than the device: a strided copy.

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {[extent: number, stride?: number, axis?: number, weight?: number]} StridedDimension axis -1, which it is without one: none */

/**
 * Fills `target`, which is zero before, in the order of nested loops over `digits`, the last innermost; each moves through `source`
 * by its stride, as through `target` without one, and along its axis by its weight. Beyond the limit of an axis zeros stay.
 * @param {Words} source
 * @param {Words} target
 * @param {StridedDimension[]} digits
 * @param {number[]} limits by axis
 */
export function arrange(source, target, digits, limits) {
  const places = limits.map(() => 0);
  const sizes = digits.map((_, i) => digits.slice(i + 1).reduce((size, [extent]) => size * extent, 1));
  // Whether what is within an index is in one piece, and has no limit.
  const isRun = sizes.map((_, level) =>
    digits.every(([, stride, axis = -1], i) => i <= level || (axis < 0 && (stride ?? sizes[i]) === sizes[i])),
  );
  /** @type {(level: number, from: number, to: number) => void} */
  const fill = (level, from, to) => {
    const size = /** @type {number} */ (sizes[level]);
    const [extent, stride = size, axis = -1, weight = 1] = /** @type {StridedDimension} */ (digits[level]);
    const start = places[axis] ?? 0;
    const end = axis < 0 ? extent : Math.min(extent, Math.ceil((Number(limits[axis]) - start) / weight));
    // A call takes as long as some elements.
    if (stride === size && isRun[level] && end * size > 15) {
      target.set(source.subarray(from, from + end * size), to);
      return;
    }
    if (size === 1) {
      for (let i = 0; i < end; i++) target[to + i] = /** @type {number} */ (source[from + i * stride]);
      return;
    }
    for (let i = 0; i < end; i++) {
      if (axis >= 0) places[axis] = start + i * weight;
      fill(level + 1, from + i * stride, to + i * size);
    }
    if (axis >= 0) places[axis] = start;
  };
  if (digits.length) fill(0, 0, 0);
  else target[0] = /** @type {number} */ (source[0]);
}
