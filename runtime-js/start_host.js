// The part of a device program that runs in WebAssembly, for what the GPU cannot say.
import { elementOf } from './dtypes.js';
import { RunError } from './errors.js';
import { fetchFile } from './fetch_file.js';
import { allocate, compile } from './wasm_module.js';

/**
 * @typedef {object} HostPart
 * @property {import('./fetch_file.js').FileSpec} module
 * @property {{ pages: number, weights: number, arena: number }} memory
 * @property {{ offset: number, bytes: number }} weights the host's own among all, in bytes
 */
/** @typedef {(weights: number, arena: number) => void} Entry */

/**
 * @param {HostPart} part
 * @param {Uint8Array<ArrayBuffer>} weights
 */
export async function startHost({ module, memory: { pages, weights: base, arena }, weights: own }, weights) {
  const memory = allocate(pages);
  const code = new Uint8Array(module.bytes);
  await fetchFile(module, code, () => {});
  new Uint8Array(memory.buffer, base).set(weights.subarray(own.offset, own.offset + own.bytes));
  // Its loops run on this thread alone.
  const parallel_for = (/** @type {number} */ body, /** @type {number} */ args, /** @type {number} */ extent) =>
    exports.chunk?.(body, args, 0, extent);
  const instance = await WebAssembly.instantiate(await compile(code, module.url), { env: { memory, parallel_for } });
  const exports = /** @type {Record<string, Function>} */ (instance.exports);
  exports.prepare?.(base, arena);
  /**
   * Puts an array into the arena.
   * @param {number} offset
   * @param {ArrayBufferView} array
   */
  const put = (offset, { buffer, byteOffset, byteLength }) =>
    new Uint8Array(memory.buffer, arena + offset, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
  return {
    put,
    /**
     * What lies in the arena, until the next call.
     * @param {number} offset
     * @param {string} dtype
     * @param {number} length
     */
    take: (offset, dtype, length) => new Uint8Array(memory.buffer, arena + offset, length * elementOf(dtype).bytes),
    /**
     * Puts arrays into the arena and runs a segment.
     * @param {number} i
     * @param {{ offset: number, array: ArrayBufferView }[]} given
     */
    call(i, given) {
      for (const { offset, array } of given) put(offset, array);
      try {
        exports[`segment_${i}`]?.(base, arena);
      } catch (error) {
        throw new RunError('trap', `the compiled model stopped: ${/** @type {Error} */ (error).message}`);
      }
    },
  };
}
