// Kernels of a GPU's program as functions of WebAssembly, by which launches are compared, or replaced.

import { trapped } from '../errors.js';
import { fetchFile } from '../fetch/fetch_file.js';
import { words } from '../values/convert.js';
import { lengthOf } from '../values/dtypes.js';
import { allocate, compile } from '../wasm/wasm_module.js';
import { arrange } from './arrange.js';

/** @typedef {import('./arrange.js').StridedDimension} StridedDimension */
/** @typedef {import('../values/convert.js').Words} Words */
/**
 * @typedef {object} Argument ReferenceArgument of compiler/program/references.py.
 * @property {number} offset bytes into the arena
 * @property {string} dtype of 32 bits
 * @property {number} size elements
 * @property {StridedDimension[]} [digits] the order of a device's storage, else it has the elements as they are
 * @property {number[]} [limits]
 * @property {StridedDimension[]} [packed] the order of the reference
 * @property {number[]} [packedLimits]
 */
/**
 * @typedef {object} Entry ReferenceKernel, of the same file.
 * @property {number} kernel of the device's program
 * @property {Argument[]} arguments the last is the result
 * @property {number[]} [scalars] bytes into the arena
 * @property {number} [tolerance]
 * @property {true} [accumulates]
 */
/**
 * @typedef {object} Reference of a kernel
 * @property {number} tolerance
 * @property {(numbers: readonly Words[], scalars: readonly number[]) => Computed} compute the result, from the numbers that the storages of
 *   its arguments have
 */
/**
 * @typedef {{ result: Words, at: (place: number) => number, places: number }} Computed Elements in the reference's order, and where in it
 *   those of the result's storage are, up to so many places of it: -1 for padding, and for what the kernel leaves as it was.
 */

/** Bits that no kernel computes: a signalling NaN of this runtime's own. */
const UNTOUCHED = 0x7fa5c3d1;

/**
 * The references of a program, by kernel.
 * @param {import('../fetch/fetch_file.js').FileSpec} file
 * @param {import('../fetch/watch_downloads.js').Downloads} downloads
 * @param {boolean} [often] they are called again and again, so they keep the orders of their arguments
 * @returns {Promise<Map<number, Reference>>}
 */
export async function fetchReferences(file, downloads, often) {
  const code = new Uint8Array(file.bytes);
  await fetchFile(file, code, () => {}, downloads);
  const module = await compile(code, file.url, 'for kernels that a GPU may compute wrongly');
  const [section] = WebAssembly.Module.customSections(module, 'references');
  /** @type {{ pages: number, arena: number, kernels: Entry[] }} */
  const { pages, arena, kernels } = JSON.parse(new TextDecoder().decode(section));
  const memory = allocate(pages);
  const instance = await WebAssembly.instantiate(module, { env: { memory } });
  const exports = /** @type {Record<string, Function>} */ (instance.exports);
  return new Map(
    kernels.map((entry, number) => {
      const call = () => exports[`segment_${number}`]?.(arena, arena);
      return [entry.kernel, referenceOf(entry, memory, arena, call, often)];
    }),
  );
}

/**
 * @param {Entry} entry
 * @param {WebAssembly.Memory} memory
 * @param {number} arena
 * @param {() => void} call
 * @param {boolean} [often]
 * @returns {Reference}
 */
function referenceOf(
  { arguments: list, scalars: offsets = [], tolerance = 0, accumulates },
  memory,
  arena,
  call,
  often,
) {
  /** @type {ReturnType<typeof orderOf>[] | undefined} */
  let kept;
  const room = (/** @type {Argument} */ { dtype, size, offset }) => words(dtype, size, memory.buffer, arena + offset);
  return {
    tolerance,
    compute(numbers, scalars) {
      const orders = kept ?? list.map(orderOf);
      if (often) kept = orders;
      list.forEach((argument, i) => {
        const own = room(argument);
        const isResult = i === list.length - 1;
        if (isResult && !accumulates) words('uint32', own.length, memory.buffer, own.byteOffset).fill(UNTOUCHED);
        else gather(/** @type {Words} */ (numbers[i]), orders[i], own);
      });
      offsets.forEach((offset, i) => {
        words('int32', 1, memory.buffer, arena + offset)[0] = Number(scalars[i]);
      });
      try {
        call();
      } catch (error) {
        throw error instanceof WebAssembly.RuntimeError ? trapped(error) : error;
      }
      const result = /** @type {Words} */ (room(/** @type {Argument} */ (list.at(-1))).slice());
      const bits = new Uint32Array(result.buffer);
      const order = orders.at(-1);
      const places = order?.length ?? result.length;
      const at = (/** @type {number} */ place) => {
        const element = order ? Number(order[place]) - 1 : place;
        return bits[element] === UNTOUCHED ? -1 : element;
      };
      return { result, at, places };
    },
  };
}

/**
 * Numbers of a storage in the order of a reference; zero where the storage has none.
 * @param {Words} numbers
 * @param {Int32Array | undefined} order
 * @param {Words} target
 */
function gather(numbers, order, target) {
  if (!order) {
    target.set(/** @type {any} */ (numbers.subarray(0, target.length)));
    return;
  }
  target.fill(0);
  order.forEach((element, place) => {
    if (element) target[element - 1] = Number(numbers[place]);
  });
}

/**
 * For each place of a storage the number of the reference's element that it has, from 1, or 0 for padding; undefined where both
 * have the same order.
 * @param {Argument} argument
 */
function orderOf({ size, digits, limits = [], packed, packedLimits = [] }) {
  if (!digits && !packed) return undefined;
  let numbers = count(size);
  if (packed) {
    const length = lengthOf(packedLimits);
    const elements = arranged(count(length), packed, packedLimits);
    numbers = new Int32Array(length);
    elements.forEach((element, i) => {
      if (element) numbers[element - 1] = i + 1;
    });
  }
  return digits ? arranged(numbers, digits, limits) : numbers;
}

const count = (/** @type {number} */ length) => Int32Array.from({ length }, (_, i) => i + 1);

/** @type {(source: Int32Array<ArrayBuffer>, digits: StridedDimension[], limits: number[]) => Int32Array<ArrayBuffer>} */
function arranged(source, digits, limits) {
  const target = new Int32Array(lengthOf(digits.map(([extent]) => extent)));
  arrange(source, target, digits, limits);
  return target;
}
