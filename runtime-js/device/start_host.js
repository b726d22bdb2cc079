// The host of a device program: a module of WebAssembly, for what the GPU cannot express.

import { trapped } from '../errors.js';
import { fetchFile } from '../fetch/fetch_file.js';
import { narrow, widen } from '../values/convert.js';
import { elementOf } from '../values/dtypes.js';
import { allocate, compile } from '../wasm/wasm_module.js';
import { at, valueAt, wordsFor } from './device_program.js';

/**
 * @typedef {object} HostPart
 * @property {import('../fetch/fetch_file.js').FileSpec} module
 * @property {{ pages: number, weights: number, arena: number }} memory
 * @property {{ offset: number, bytes: number }} weights the host's own among all, in bytes
 * @property {number} prepare calls of the function of this name
 */
/**
 * @typedef {object} HostModule
 * @property {(weights?: Uint8Array<ArrayBuffer>) => void} load its own, if it has any
 * @property {(segment: number) => void} run
 * @property {(offset: number, array: ArrayBufferView) => void} write an array into the arena
 * @property {(offset: number, dtype: string, length: number) => Uint8Array} read a view of the arena, until the next run
 */
/** @typedef {import('../values/convert.js').Words} Words */
/**
 * @typedef {Pick<HostModule, 'read' | 'write'> & { call: Call }} Host
 * @typedef {(number: number, arrays: readonly Words[], scalars: readonly number[]) => void} Call carries out a call, with the
 *   values that it reads, and hands the device what it writes
 */

/**
 * @param {HostPart} part
 * @param {import('../fetch/watch_downloads.js').Downloads} downloads
 * @returns {Promise<HostModule>}
 */
async function start({ module, memory: { pages, weights: base, arena }, weights: own, prepare }, downloads) {
  const memory = allocate(pages);
  const code = new Uint8Array(module.bytes);
  await fetchFile(module, code, () => {}, downloads);
  /** @type {Error | undefined} a trap leaves the stack pointer and the memory as they were in mid-run */
  let broken;
  const env = {
    memory,
    // Its loops run on this thread alone.
    parallel_for: (/** @type {number} */ body, /** @type {number} */ args, /** @type {number} */ extent) =>
      exports.chunk?.(body, args, 0, extent),
  };
  const purpose = 'for the operations that run on the host';
  const imports = /** @type {WebAssembly.Imports} */ ({ env });
  const instance = await WebAssembly.instantiate(await compile(code, module.url, purpose), imports);
  const exports = /** @type {Record<string, Function>} */ (instance.exports);
  const bytes = (/** @type {number} */ from, /** @type {number} */ length) =>
    new Uint8Array(memory.buffer, from, length);
  const call = (/** @type {string} */ entry, number = 0) => {
    if (broken) throw broken;
    try {
      exports[entry]?.(base, arena, number);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      broken = trapped(error);
      throw broken;
    }
  };
  return {
    load(weights) {
      if (weights) bytes(base, own.bytes).set(weights.subarray(0, own.bytes));
      for (let number = 0; number < prepare; number++) call('prepare', number);
    },
    run: (segment) => call(`segment_${segment}`),
    write: (offset, { buffer, byteOffset, byteLength }) =>
      bytes(arena + offset, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength)),
    read: (offset, dtype, length) => bytes(arena + offset, length * elementOf(dtype).bytes),
  };
}

/**
 * @param {HostModule} module
 * @param {import('./device_program.js').Device} device
 * @param {import('./device_program.js').Program} program
 * @returns {Host}
 */
function attach({ run, read, write }, device, program) {
  const targets = program.calls.map(({ writes }) => writes.map(({ value }) => wordsFor(program, value)));
  return {
    ...{ read, write },
    call(number, arrays, scalars) {
      const { reads, writes, name } = at(program.calls, number);
      reads.forEach(({ value, offset }, k) => {
        write(offset, narrow(valueAt(program, value).dtype, at(arrays, k)));
      });
      for (const [n, offset] of program.host?.scalars ?? []) write(offset, Int32Array.of(Number(scalars[n])));
      run(number);
      writes.forEach(({ value, offset }, k) => {
        const { dtype, length } = valueAt(program, value);
        const target = at(at(targets, number), k);
        widen(dtype, read(offset, dtype, length), target, name);
        device.write(value, target);
      });
    },
  };
}

export const host = { start, attach };
