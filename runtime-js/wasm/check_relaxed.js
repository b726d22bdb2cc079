// Relaxed instructions compute what the engine likes within limits, on which modules rely: each is tried before a module with them
// is fetched.
import { passes, probe } from './features.js';

/** @typedef {import('../model.js').CanaryInfo} CanaryInfo */

/**
 * Whether the browser computes `result` by a body of type i32.
 * @param {number[]} body
 * @param {number} result
 */
const computes = (body, result) => passes(probe(body, 0x7f), result);

/** v128.const of an array's elements. */
const constant = (/** @type {ArrayBufferView} */ { buffer }) => [0xfd, 12, ...new Uint8Array(buffer)];
const floats = (/** @type {number[]} */ ...numbers) => constant(Float32Array.of(...numbers));
const words = (/** @type {number[]} */ ...numbers) => constant(Int32Array.of(...numbers));

// Products of 24 bits, and one that is rounded: equal whether a sum is rounded once or twice.
const factors = [...floats(4097, -3, 4097, 1.5), ...floats(4095, 5, 4099, -2.25)];
// A NaN in the second operand stays. In the first one it need not.
const pairs = [...floats(5, -3, 2, -1), ...floats(2, 4, Number.NaN, -Infinity)];
// Bytes, with numbers of 7 bits: signed and unsigned ones are the same, and sums of two fit 16 bits.
const dotted = [
  ...constant(Int8Array.of(-128, -128, 127, 127, -128, 127, 3, -5, 7, 11, -13, 17, 19, -23, 29, -31)),
  ...constant(Int8Array.of(127, 127, 127, 127, 127, 127, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89)),
];

/** @type {Record<string, [operands: number[], opcode: number, result: number[]]>} those that a compiled module has */
const instructions = {
  'f32x4.relaxed_madd': [[...factors, ...floats(-16777214, 22, 0, 0.375)], 0x85, floats(1, 7, 4097 * 4099, -3)],
  'f32x4.relaxed_nmadd': [[...factors, ...floats(16777216, 22, 0, 0.375)], 0x86, floats(1, 37, -4097 * 4099, 3.75)],
  'f32x4.relaxed_min': [pairs, 0x8d, floats(2, -3, Number.NaN, -Infinity)],
  'f32x4.relaxed_max': [pairs, 0x8e, floats(5, 4, Number.NaN, -1)],
  'i16x8.relaxed_dot_i8x16_i7x16_s': [
    dotted,
    0x92,
    constant(Int16Array.of(-32512, 32258, -127, -7, 76, 117, -383, -1164)),
  ],
  'i32x4.relaxed_dot_i8x16_i7x16_add_s': [[...dotted, ...words(1e6, -7, 0, 1547)], 0x93, words(999746, -141, 193, 0)],
};

/**
 * Tries each instruction; those are skipped that the engine lacks, or that a policy forbids to try.
 * @returns {CanaryInfo}
 */
export function checkRelaxed() {
  const all = Object.entries(instructions).map(([name, [operands, opcode, result]]) => ({
    name,
    // i32x4.eq of both results, and i32x4.all_true of that.
    equal: [...operands, 0xfd, opcode, 2, ...result, 0xfd, 0x37, 0xfd, 0xa3, 1],
  }));
  const others = all.filter(({ equal }) => !computes(equal, 1));
  const wrong = others.filter(({ equal }) => computes(equal, 0)).map(({ name }) => name);
  if (wrong.length)
    console.warn(`wasm gives wrong results here, by ${wrong.join(', ')}: the module of plain SIMD runs instead`);
  const skipped = others.length - wrong.length;
  return {
    ...{ checked: all.length - skipped, skipped },
    failed: wrong.map((kernel) => ({ kernel, nodes: [], backend: 'wasm', action: 'plain-simd' })),
  };
}
