// A device that carries out launches one by one, on what the host has of each storage, and compares each result with a
// reference: this result is what later launches find, so a launch is judged by itself.
import { at, storageOf, valueAt } from '../device/device_program.js';
import { keep, oneByOne, saturating } from '../device/run_on_host.js';
import { UnsupportedError } from '../errors.js';
import { words } from '../values/convert.js';
import { copyOf, elementOf } from '../values/dtypes.js';
import { numbersIn } from '../values/halves.js';
import { judge } from './judge_launch.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../device/device_program.js').Device} Device */
/** @typedef {import('../device/device_program.js').Program} Program */
/** @typedef {import('../device/device_program.js').Started} Started */
/** @typedef {import('../model.js').WrongKernel} WrongKernel */
/** @typedef {import('../device/reference_kernels.js').Reference} Reference */
/**
 * @typedef {object} Findings
 * @property {Set<number>} compared kernels
 * @property {Map<number, { kernel: string, nodes: string[] }>} skipped kernels
 * @property {number} launches that were compared
 * @property {number} largest difference of floats
 * @property {Map<number, WrongKernel>} wrong kernels, in the order of the run
 * @property {boolean} over later launches are carried out by references alone
 */

/** Milliseconds after which the page has its turn: references alone compute without waiting for a GPU. */
const TURN = 50;

/** @type {() => Findings} */
export const noFindings = () => ({
  ...{ compared: new Set(), skipped: new Map(), launches: 0, largest: 0, wrong: new Map(), over: false },
});

/**
 * @param {Device} device
 * @param {Program} program
 * @param {Map<number, Reference>} references by kernel
 * @param {Findings} findings
 * @param {AbortSignal | undefined} signal
 * @returns {Device}
 */
export function comparingDevice(device, program, references, findings, signal) {
  /** @type {(Words | undefined)[]} by storage */
  const contents = [];
  /** @type {Set<number>} values that the device alone has */
  const drawn = new Set();
  const inOrder = oneByOne();
  const giveTurn = turns();
  /** @type {unknown} of the first write that failed: what follows would be computed of zeros */
  let failed;
  const contentOf = (/** @type {number} */ value) => {
    const { storage } = valueAt(program, value);
    contents[storage] ??= roomFor(storageOf(program, value));
    return contents[storage];
  };
  const fetchDrawn = async () => {
    for (const value of drawn) contentOf(value).set(/** @type {any} */ (at(await device.segment([value])([]), 0)));
    drawn.clear();
  };
  /** @param {Started} started */
  const launchOne = async ({ number, scalars }) => {
    await giveTurn();
    signal?.throwIfAborted();
    const launch = at(program.launches, number);
    const operands = launch.arguments.map(contentOf);
    const types = launch.arguments.map((value) => storageOf(program, value).dtype);
    const target = at(operands, operands.length - 1);
    const type = at(types, types.length - 1);
    const plain = references.get(launch.kernel);
    const reference = plain && type === 'float16' ? saturating(plain) : plain;
    const isTried = !findings.over || !reference;
    const left = isTried ? await device.tryLaunch?.(launch, scalars, operands) : undefined;
    const found = left && words(type, target.length, left);
    const { name } = at(program.kernels, launch.kernel);
    // Without what is left there was no memory for the launch.
    if (isTried && (!reference || !found)) findings.skipped.set(launch.kernel, { kernel: name, nodes: launch.nodes });
    if (!reference) {
      if (found) target.set(/** @type {any} */ (found));
      return;
    }
    const numbers = operands.map((content, i) => numbersIn(at(types, i), content));
    const expected = reference.compute(numbers, scalars);
    if (found) {
      const { dtype } = valueAt(program, at(launch.arguments, operands.length - 1));
      const judged = judge(reference, numbers, scalars, expected, numbersIn(type, found), dtype === 'bool');
      findings.compared.add(launch.kernel);
      findings.launches++;
      if (expected.result instanceof Float32Array) findings.largest = Math.max(findings.largest, judged.apart);
      if (!(judged.apart <= judged.allowed) && !findings.wrong.has(launch.kernel)) {
        const { nodes, ops } = launch;
        findings.wrong.set(launch.kernel, { kernel: name, nodes, ops, launch: number, ...judged });
      }
    }
    keep(expected, target, type === 'float16');
  };
  return {
    ...device,
    write(value, data) {
      const copy = allocated(data.byteLength, () =>
        words(storageOf(program, value).dtype, data.length, copyOf(data).buffer),
      );
      inOrder(async () => contentOf(value).set(/** @type {any} */ (copy))).catch((error) => {
        failed ??= error;
      });
    },
    draw(value, ...picture) {
      device.draw(value, ...picture);
      drawn.add(value);
    },
    copy(value, ...source) {
      device.copy(value, ...source);
      drawn.add(value);
    },
    segment: (reads) => (launches, lengths) =>
      inOrder(async () => {
        if (failed) throw failed;
        await fetchDrawn();
        for (const started of launches) await launchOne(started);
        return reads.map((value, i) => contentOf(value).slice(0, lengths?.[i] ?? valueAt(program, value).length));
      }),
    release(storage) {
      delete contents[storage];
      device.release(storage);
    },
  };
}

/** @type {(storage: import('../device/device_program.js').Storage) => Words} */
const roomFor = ({ bytes, dtype }) => allocated(bytes, () => words(dtype, bytes / elementOf(dtype).bytes));

/**
 * @template T
 * @param {number} bytes
 * @param {() => T} make an array of so many bytes
 * @returns {T}
 * @throws {UnsupportedError} `memory`
 */
function allocated(bytes, make) {
  try {
    return make();
  } catch (error) {
    throw new UnsupportedError(
      'memory',
      `check keeps what the GPU has in memory, too, and the browser did not allocate ${Math.ceil(bytes / 2 ** 20)} MiB more ` +
        `for it: close other pages, or check the model with smaller inputs (${error})`,
    );
  }
}

/** A pause in which the page does what waits, once the last one is long ago. */
function turns() {
  let last = performance.now();
  return async () => {
    if (performance.now() - last < TURN) return;
    await new Promise((resolve) => setTimeout(resolve));
    last = performance.now();
  };
}
