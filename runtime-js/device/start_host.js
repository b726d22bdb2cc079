// The host of a device program: launches in their order, and steps for what the GPU cannot express. A module of
// WebAssembly, or plain data.

import { trapped } from '../errors.js';
import { fetchFile } from '../fetch/fetch_file.js';
import { elementOf } from '../values/dtypes.js';
import { allocate, compile } from '../wasm/wasm_module.js';

/**
 * @typedef {object} HostPart
 * @property {import('../fetch/fetch_file.js').FileSpec} module
 * @property {{ pages: number, weights: number, arena: number }} memory
 * @property {{ offset: number, bytes: number }} weights the host's own among all, in bytes
 */
/**
 * @typedef {object} Actions What the host has done for it, by number.
 * @property {(launch: number) => void} launch
 * @property {(call: number) => void} give hands the device what a call wrote
 */
/**
 * @typedef {object} Host
 * @property {(entry: string) => boolean} has
 * @property {(entry: string, actions: Actions) => void} play
 * @property {(weights: Uint8Array<ArrayBuffer>) => void} fill
 * @property {(offset: number, array: ArrayBufferView) => void} put an array into the arena
 * @property {(offset: number, dtype: string, length: number) => Uint8Array} take a view of the arena, until the next call
 */

/**
 * @param {HostPart} part
 * @param {import('../fetch/watch_downloads.js').Downloads} downloads
 * @returns {Promise<Host>}
 */
export async function startHost({ module, memory: { pages, weights: base, arena }, weights: own }, downloads) {
  const memory = pages ? allocate(pages) : undefined;
  const code = new Uint8Array(module.bytes);
  await fetchFile(module, code, () => {}, downloads);
  /** @type {Actions | undefined} */
  let actions;
  /** @type {Error | undefined} a trap leaves the stack pointer and the memory as they were in mid-run */
  let broken;
  const env = {
    memory,
    launch: (/** @type {number} */ number) => actions?.launch(number),
    give: (/** @type {number} */ number) => actions?.give(number),
    // Its loops run on this thread alone.
    parallel_for: (/** @type {number} */ body, /** @type {number} */ args, /** @type {number} */ extent) =>
      exports.chunk?.(body, args, 0, extent),
  };
  const advice = 'or a bundle compiled with --host js, which needs no WebAssembly';
  const imports = /** @type {WebAssembly.Imports} */ ({ env });
  const instance = await WebAssembly.instantiate(await compile(code, module.url, advice), imports);
  const exports = /** @type {Record<string, Function>} */ (instance.exports);
  const bytes = (/** @type {number} */ from, /** @type {number} */ length) =>
    new Uint8Array(/** @type {WebAssembly.Memory} */ (memory).buffer, from, length);
  return {
    has: (entry) => entry in exports,
    play(entry, given) {
      if (broken) throw broken;
      actions = given;
      try {
        exports[entry]?.(base, arena);
      } catch (error) {
        if (!(error instanceof WebAssembly.RuntimeError)) throw error;
        broken = trapped(error);
        throw broken;
      }
    },
    fill(weights) {
      if (own.bytes) bytes(base, own.bytes).set(weights.subarray(own.offset, own.offset + own.bytes));
    },
    put: (offset, { buffer, byteOffset, byteLength }) =>
      bytes(arena + offset, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength)),
    take: (offset, dtype, length) => bytes(arena + offset, length * elementOf(dtype).bytes),
  };
}

/**
 * The host of a program that is data: it computes nothing.
 * @param {import('./device_program.js').Program} program
 * @returns {Host}
 */
export function orderedHost({ order = {} }) {
  const nowhere = () => {
    throw new TypeError('a host that is data has no memory');
  };
  return {
    has: (entry) => entry in order,
    play(entry, { launch }) {
      for (const number of order[entry] ?? []) launch(number);
    },
    fill() {},
    put: nowhere,
    take: nowhere,
  };
}
