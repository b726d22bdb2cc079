// Which module of a bundle this browser runs.
import { UnsupportedError } from '../errors.js';

/** @typedef {import('./features.js').Variant} Variant */

/**
 * The fastest variant of those offered that this browser can run.
 * @param {readonly string[]} offered
 * @param {readonly Variant[]} able
 * @returns {Variant}
 * @throws {UnsupportedError} `simd`
 */
export function pickVariant(offered, able) {
  const variant = able.find((name) => offered.includes(name));
  if (variant) return variant;
  throw new UnsupportedError(
    'simd',
    `this browser lacks WebAssembly SIMD, which the model needs (the bundle has: ${offered.join(', ')}); ` +
      'Chrome 91, Firefox 89, Safari 16.4 and later have it',
  );
}
