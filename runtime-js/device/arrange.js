// Constants that lie in the bundle in another order than the device wants: a copy by strides.

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {[extent: number, stride: number, axis: number, weight: number]} Digit */

/**
 * The order in which `target` (zeros before) is filled: digits count, the last one fastest, each moving through `source`
 * by its stride. A digit of an axis moves there by its weight; beyond the axis's limit zeros stay.
 * @param {Words} source
 * @param {Words} target
 * @param {Digit[]} digits
 * @param {number[]} limits by axis
 */
export function arrange(source, target, digits, limits) {
  const places = limits.map(() => 0);
  const sizes = digits.map((_, i) => digits.slice(i + 1).reduce((size, [extent]) => size * extent, 1));
  /** @type {(level: number, from: number, to: number) => void} */
  const fill = (level, from, to) => {
    const [extent, stride, axis, weight] = /** @type {Digit} */ (digits[level]);
    const size = /** @type {number} */ (sizes[level]);
    const start = places[axis] ?? 0;
    const end = axis < 0 ? extent : Math.min(extent, Math.ceil((Number(limits[axis]) - start) / weight));
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
