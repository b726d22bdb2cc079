// What this browser's WebAssembly supports: each feature is tried with the smallest module that needs it.
import { UnsupportedError } from '../errors.js';

// (module (func (result v128) BODY)), the body given as its code after the empty list of locals.
/** @param {number[]} body */
const probe = (body) =>
  Uint8Array.of(
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // magic, version
    ...[1, 5, 1, 0x60, 0, 1, 0x7b], // type: () -> v128
    ...[3, 2, 1, 0], // function 0 has type 0
    ...[10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b], // code
  );

const zero = [0xfd, 12, ...new Array(16).fill(0)]; // v128.const 0
const probes = {
  relaxed: probe([...zero, ...zero, ...zero, 0xfd, 0x85, 0x02]), // f32x4.relaxed_madd
  plain: probe([...zero, ...zero, 0xfd, 0xe4, 0x01]), // f32x4.add
};

/** @typedef {keyof typeof probes} Variant */

/** The variants that this browser can run, fastest first; none where it has no WebAssembly. */
export const listVariants = () =>
  /** @type {Variant[]} */ (
    Object.entries(probes)
      .filter(([, module]) => typeof WebAssembly === 'object' && WebAssembly.validate(module))
      .map(([name]) => name)
  );

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
