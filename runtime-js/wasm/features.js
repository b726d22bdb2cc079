// What this browser's WebAssembly supports: each feature is tried with the smallest module that needs it.

// (module (func (export "f") (result TYPE) BODY)), the body given as its code after the empty list of locals. The type is
// v128, or i32.
/** @param {number[]} body */
export const probe = (body, type = 0x7b) =>
  Uint8Array.of(
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], // magic, version
    ...[1, 5, 1, 0x60, 0, 1, type], // type: () -> TYPE
    ...[3, 2, 1, 0], // function 0 has type 0
    ...[7, 5, 1, 1, 0x66, 0, 0], // and is exported as f
    ...[10, body.length + 4, 1, body.length + 2, 0, ...body, 0x0b], // code
  );

/** v128.const of these bytes, then zeros. */
const vector = (/** @type {number[]} */ ...bytes) => [0xfd, 12, ...bytes, ...new Array(16 - bytes.length).fill(0)];
const zero = vector();

// <bytes>
// The sums of lanes 0 and 1 of relaxed dots, which tell what bytes of the second operand are, and whether sums fit:
// i32x4.relaxed_dot_i8x16_i7x16_add_s of four (127, 255) and of four (-128, 128), i16x8.relaxed_dot_i8x16_i7x16_s of
// two (64, 255) and of two (-64, 1).
const quads = [...vector(127, 127, 127, 127, 128, 128, 128, 128), ...vector(255, 255, 255, 255, 128, 128, 128, 128)];
const quadsOnto = [...quads, ...zero, 0xfd, 0x93, 2];
const pairs = [...vector(64, 64, 192, 192), ...vector(255, 255, 1, 1), 0xfd, 0x92, 2];
const sum = (/** @type {number[]} */ dot, /** @type {number} */ extract) =>
  probe([...dot, 0xfd, extract, 0, ...dot, 0xfd, extract, 1, 0x6a], 0x7f);
// </bytes>

/** @type {Record<string, { module: Uint8Array, result?: number }>} by variant: what it needs, and computes where exact */
const probes = {
  // <bytes>
  signed: { module: sum(quadsOnto, 0x1b), result: -4 * 127 + 4 * 128 * 128 },
  unsigned: { module: sum(quadsOnto, 0x1b), result: 4 * 127 * 255 - 4 * 128 * 128 },
  narrow: { module: sum(pairs, 0x18), result: 2 * 64 * 255 - 2 * 64 },
  // </bytes>
  relaxed: { module: probe([...zero, ...zero, ...zero, 0xfd, 0x85, 2]) }, // f32x4.relaxed_madd
  plain: { module: probe([...zero, ...zero, 0xfd, 0xe4, 1]) }, // f32x4.add
};

/** @typedef {'signed' | 'unsigned' | 'narrow' | 'relaxed' | 'plain'} Variant */

/** The variants that this browser can run, fastest first; none where it has no WebAssembly. */
export const listVariants = () =>
  /** @type {Variant[]} */ (
    Object.entries(probes)
      .filter(([, { module, result }]) => typeof WebAssembly === 'object' && passes(module, result))
      .map(([name]) => name)
  );

/**
 * Whether the browser accepts a module, and computes `result` by it where that is given.
 * @param {Uint8Array} module
 * @param {number} [result]
 */
export function passes(module, result) {
  if (!WebAssembly.validate(/** @type {BufferSource} */ (module))) return false;
  if (result === undefined) return true;
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(/** @type {BufferSource} */ (module)));
    const { f } = /** @type {{ f: () => number }} */ (exports);
    return f() === result;
  } catch {
    return false; // a page's policy may forbid it: what is loaded later says so
  }
}
