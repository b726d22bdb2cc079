// How far the results of two backends lie apart.

/** @typedef {import('../model.js').Outputs} Outputs */

/**
 * The largest difference, relative to the largest value of that output in `expected`, and at least to `least`, or to 1 where all are 0.
 * @param {Outputs} outputs
 * @param {Outputs} expected
 * @param {readonly { name: string, dtype?: string }[]} specs
 * @param {number} [least]
 */
export function largestDifference(outputs, expected, specs, least = 1) {
  let worst = 0;
  for (const { name, dtype } of specs) {
    const [got, want] = [numbersOf(outputs[name], dtype), numbersOf(expected[name], dtype)];
    if (got.length !== want.length) return Number.POSITIVE_INFINITY;
    const scale = want.reduce((most, n) => (Number.isFinite(n) ? Math.max(most, Math.abs(n)) : most), least) || 1;
    got.forEach((n, i) => {
      const wanted = /** @type {number} */ (want[i]);
      if (Object.is(n, wanted)) return;
      const apart = Math.abs(n - wanted) / scale;
      worst = Math.max(worst, Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart);
    });
  }
  return worst;
}

/**
 * Numbers of a result, of text those of its letters; of answers with scores these alone, as classes with nearly the same ones may change places.
 * @param {unknown} result
 * @param {string} [dtype]
 * @returns {number[]}
 */
export function numbersOf(result, dtype) {
  if (typeof result === 'number' || typeof result === 'bigint') return [Number(result)];
  if (typeof result === 'string') return Array.from(result, (letter) => Number(letter.codePointAt(0)));
  if (ArrayBuffer.isView(result)) {
    const numbers = Array.from(/** @type {any} */ (result), Number);
    return dtype === 'float16' && result instanceof Uint16Array ? numbers.map(ofHalf) : numbers;
  }
  if (typeof result !== 'object' || result === null) return [];
  if ('score' in result && 'index' in result) return numbersOf(result.score);
  const parts = Object.values(result);
  return parts.flatMap((one) => (typeof one === 'string' && !Array.isArray(result) ? [] : numbersOf(one)));
}

/** @param {number} bits of a float16 */
function ofHalf(bits) {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent ? 2 ** (exponent - 25) * (1024 + fraction) : 2 ** -24 * fraction;
  return (bits & 0x8000 ? -1 : 1) * (exponent < 31 ? size : fraction ? Number.NaN : Number.POSITIVE_INFINITY);
}
