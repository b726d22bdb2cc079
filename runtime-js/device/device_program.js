// A device program as the bundle stores it, and what is the same for every GPU API: constants, buffers, segments.

import { fetchJson } from '../fetch/fetch_file.js';
import { widen, words } from '../values/convert.js';
import { elementOf, lengthOf } from '../values/dtypes.js';
import { evaluate } from '../values/sizes.js';
import { arrange } from './arrange.js';
import { unpackSource } from './unpack_source.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../fetch/fetch_file.js').FileSpec} FileSpec */
/** @typedef {import('../model.js').Progress} Progress */
/**
 * @typedef {object} DevicePart
 * @property {'webgpu' | 'webgl'} backend
 * @property {FileSpec} program
 * @property {import('./start_host.js').HostPart} [host]
 * @property {FileSpec} [alternatives] of kernels
 * @property {FileSpec} [references] with which launches are compared
 */
/** @typedef {import('../start_session.js').Plan & DevicePart} DevicePlan */
/**
 * @typedef {object} Kernel
 * @property {string} name
 * @property {string} source of a fragment shader without its declarations
 * @property {string} [subgroups] the same for devices that have these
 * @property {import('../model.js').KernelFault['action']} [taken] what `source` is, where the kernel's first one is wrong on this adapter
 * @property {import('./reference_kernels.js').Reference} [reference] what computes it where all sources are wrong
 * @property {{ samplers: string[], output: string }} [declarations] of a fragment shader: types in its language
 * @property {string} access a letter for each parameter, r or w
 * @property {[Expression, Expression, number]} grid workgroups, or width, height and layers of the texels that a draw
 *   covers: expressions of the scalars that a launch passes
 * @property {[Expression, Expression, number, number, number]} [strips] of what a draw covers: the first texel, texels, from one
 *   to the next, how many there are, and the texture's width
 * @property {number} [scalars] how many these are
 * @property {number} flops
 * @property {number} bytes
 */
/** @typedef {Kernel & Required<Pick<Kernel, 'declarations'>>} FragmentKernel */
/** @typedef {{ bytes: number, dtype: string, texture?: [number, number, number], prepareOnly?: true, state?: true }} Storage */
/** @typedef {{ storage: number, dtype: string, length: number }} Value */
/**
 * @typedef {object} Constant
 * @property {number} value
 * @property {number} offset
 * @property {number} bytes
 * @property {string} dtype
 * @property {import('./arrange.js').StridedDimension[]} [digits] the order in which it fills its storage
 * @property {number[]} [limits]
 */
/** @typedef {{ kernel: number, name: string, arguments: number[], nodes: string[], ops: string[], scalars?: number[] }} Launch */
/**
 * @typedef {object} Canary A kernel's first launch, on operands made of a seed, and what the build found of its result, that of the last
 *   argument: Canary of compiler/program/device_program.py.
 * @property {number} [checksum] of kernels that have one: the sum with random signs, away from zero by some norms, roots of the sum of squares
 * @property {number} [tolerance] relative to the norm: by default 1e-4
 * @property {number[]} [sizes] that are passed as scalars
 * @property {number} [floats] 0.5: around 1; else their bound, by default 1
 * @property {number} [integers] a mask of their bits
 * @property {number} [most] of magnitudes, in place of larger ones and infinities in the result
 * @property {Record<number, [digits: import('./arrange.js').StridedDimension[], limits: number[]]>} [outside] padding of storages, of
 *   the result's by 0, that of the argument before it by 1; strides mean nothing
 */
/**
 * @typedef {(launch: Launch, scalars: readonly number[], contents: readonly Words[]) => Promise<ArrayBuffer | undefined>} TryLaunch Carries it out
 *   on storages of its own, with these contents, and gives what the last one has then; undefined where the device reports an error.
 */
/** @typedef {import('../values/sizes.js').Expression} Expression */
/**
 * @typedef {{ value?: number, offset?: number, input?: number }} ScalarLocation a single element: of a value, in the host's
 *   arena, or of an input
 * @typedef {ScalarLocation & { sizes?: Expression }} Condition a bool: at a place, or an expression of scalars
 * @typedef {({ scalar: number } & ScalarLocation)
 *   | { counter: number, trips: Expression, until?: ScalarLocation, body: Step[] }
 *   | { if: Condition, then: Step[], else: Step[] }} Structure a scalar that is read, a loop, a branch
 * @typedef {[first: number, end: number] | { call: number } | Structure} Step launches by their numbers, a call of the host by
 *   its number, or what decides how the run goes on
 * @typedef {{ number: number, scalars: readonly number[] }} Started a launch, with its scalars
 */
/** @typedef {{ value: number, offset: number }} Place bytes into the host's arena */
/** @typedef {{ reads: Place[], writes: Place[], name: string, nodes: string[], ops: string[] }} HostCall */
/**
 * @typedef {object} Program The device program that compiler/program/device_program.py describes.
 * @property {string[]} features that it cannot do without
 * @property {(Kernel & Canary)[]} kernels
 * @property {Storage[]} storages
 * @property {Value[]} values
 * @property {Constant[]} constants
 * @property {Launch[]} launches
 * @property {HostCall[]} calls
 * @property {Step[]} prepare steps that are carried out once, at load
 * @property {Step[]} steps of a run
 * @property {number} crossings places where a run waits for values from the device
 * @property {Record<number, (Pick<Kernel, 'source'> & Partial<Kernel>)[]>} [alternatives] what is left to take the place of each
 *   kernel, with packed sources, once any is needed
 * @property {Map<number, import('./reference_kernels.js').Reference>} [references] likewise
 * @property {number[]} inputs values, -1 for what the device does not hold
 * @property {number[]} outputs likewise
 * @property {number[]} [states] values, each in a storage of its own, of which each session has one
 * @property {{ inputs: number[], outputs: number[], scalars?: [number, number][] }} [host] where those are in the host's arena,
 *   in bytes; -1 for nowhere
 */
/**
 * @typedef {object} Device A GPU with a program's storages on it, zeroed. What fails because it is lost throws DeviceLostError.
 * @property {string} adapter
 * @property {Record<string, number>} limits those that the program has need of
 * @property {string[]} features of WebGPU, those that its shaders make use of
 * @property {GPUDevice} [own]
 * @property {(onKernel: () => void, kernels?: readonly number[]) => Promise<unknown>} compile all kernels, or those whose sources have
 *   changed, and make all launches ready
 * @property {(value: number, data: Words) => void} write
 * @property {(value: number, source: any, picture: import('../values/check_inputs.js').Picture) => void} draw an image into an input
 * @property {(value: number, source: GPUBuffer, runs: Runs) => void} copy
 * @property {(reads: number[]) => Segment} segment
 * @property {(value: number, runs: Runs) => GPUBuffer} copyOut a new buffer with the value
 * @property {(launches: readonly Started[], repeat: number) => Promise<{ ms: number[], clock: 'gpu' | 'wall' }>} time each launch, in order,
 *   carried out so many times
 * @property {(storage: number) => void} release
 * @property {unknown} [held] what the device has in memory
 * @property {(reads: number[]) => Segment} [segmentOnce] one that leaves nothing in memory
 * @property {() => Promise<Device>} [session] the same with storages of states of its own, which are zero
 * @property {() => void} [clearStates]
 * @property {(from: unknown) => void} [copyStates] from what another session has in memory
 * @property {(value: number) => void} [keepToken] its first word
 * @property {() => GPUBuffer} [token] that was kept
 * @property {(values: readonly number[]) => void} [hold] copies of them
 * @property {(kept: readonly number[]) => void} [undo] they become what the copies are
 * @property {() => number} [sentScalars] bytes that went to it as scalars of launches, ever
 * @property {TryLaunch} [tryLaunch]
 * @property {(storage: number) => Promise<Words>} [readStorage] all that it has, in its own order
 * @property {() => void} dispose
 */
/** @typedef {{ dense: number, spaced: number, length: number }[]} Runs of elements, in a buffer of the caller's and in a value */
/**
 * @typedef {(launches: readonly Started[], lengths?: readonly number[]) => Promise<Words[]>} Segment Launches in order, then
 *   the values read, as arrays of their own: all of them, or so many first words of 4 bytes.
 */
/** @typedef {(program: Promise<Program>, plan: DevicePlan) => Promise<Device>} Open */

/**
 * @param {DevicePlan} plan
 * @param {import('../fetch/watch_downloads.js').Downloads} downloads
 * @returns {Promise<Program>}
 */
export async function fetchProgram({ program: file }, downloads) {
  const program = await fetchJson(file, downloads);
  for (const table of ['kernels', 'storages', 'values', 'constants', 'launches'])
    program[table] = rowsOf(program[table]);
  for (const storage of program.storages)
    storage.bytes ??= 4 * lengthOf(storage.texture) * elementOf(storage.dtype).bytes;
  for (const kernel of program.kernels) {
    kernel.source = unpackSource(kernel.source);
    // <subgroups>
    if (kernel.subgroups) kernel.subgroups = unpackSource(kernel.subgroups);
    // </subgroups>
  }
  let last = 0;
  for (const launch of program.launches) {
    launch.name ??= program.kernels[launch.kernel].name;
    launch.arguments = launch.arguments.map((/** @type {number} */ difference) => last + difference);
    last = launch.arguments.at(-1);
  }
  return program;
}

/** @type {(columns: Record<string, any[]>) => Record<string, any>[]} rows lack the fields that are null; those of some
 * columns are differences from the row before */
const rowsOf = (columns) => {
  /** @type {Record<string, any>[]} */
  const rows = [];
  for (const [name, fields] of Object.entries(columns)) {
    const differs = ['offset', 'storage', 'value'].includes(name);
    for (const [i, field] of fields.entries()) {
      rows[i] ??= {};
      if (field !== null) rows[i][name] = differs ? (rows[i - 1]?.[name] ?? 0) + field : field;
    }
  }
  return rows;
};

/**
 * Writes a constant to the device.
 * @param {Device} device
 * @param {Program} program
 * @param {Constant} constant
 * @param {Uint8Array<ArrayBuffer>} file its bytes, from the beginning of a buffer, which has room for whole words
 */
export function uploadConstant(device, program, { value, bytes, dtype, digits, limits }, file) {
  const type = storageOf(program, value).dtype;
  const length = bytes / elementOf(dtype).bytes;
  let elements = dtype === type ? words(type, whole(type, length), file.buffer, 0) : words(type, length);
  if (dtype !== type) widen(dtype, file.subarray(0, bytes), elements, '');
  if (digits) {
    const shipped = elements;
    elements = words(
      type,
      whole(
        type,
        digits.reduce((size, [extent]) => size * extent, 1),
      ),
    );
    arrange(shipped, elements, digits, limits ?? []);
  }
  device.write(value, elements);
}

/** Elements that fill whole words of 4 bytes: storages have room for them. */
export const whole = (/** @type {string} */ dtype, /** @type {number} */ length) => {
  const each = 4 / elementOf(dtype).bytes;
  return Math.ceil(length / each) * each;
};

/**
 * Words for a value.
 * @param {Program} program
 * @param {number} index
 * @returns {Words}
 */
export const wordsFor = (program, index) => words(storageOf(program, index).dtype, valueAt(program, index).length);

/** @type {(program: Program, index: number) => Storage} */
export const storageOf = (program, index) => at(program.storages, valueAt(program, index).storage);

/**
 * @template T
 * @param {readonly T[]} list
 * @param {number} i an index that the list has
 */
export const at = (list, i) => /** @type {T} */ (list[i]);

/** @type {(program: Program, index: number) => Value} */
export const valueAt = (program, index) => at(program.values, index);

const none = /** @type {readonly number[]} */ ([]);

/**
 * The grid of a launch.
 * @param {Kernel} kernel
 * @param {readonly number[]} [scalars]
 * @returns {[number, number, number]}
 */
export const gridOf = ({ grid }, scalars = none) =>
  /** @type {[number, number, number]} */ (grid.map((size) => Math.max(0, evaluate(size, scalars))));

/** @type {(launches: readonly Pick<Launch, 'nodes'>[]) => string[]} the nodes that they cover, each once */
export const nodesOf = (launches) => [...new Set(launches.flatMap(({ nodes }) => nodes))];

/** @type {(program: Program, kernel: number) => Launch[]} */
export const launchesOf = ({ launches }, kernel) => launches.filter((one) => one.kernel === kernel);

/**
 * A kernel, or what one launch of it computes, for an error.
 * @param {Program} program
 * @param {number} kernel
 * @param {Pick<Launch, 'name' | 'nodes'>} [launch]
 */
export function describe(program, kernel, launch) {
  const list = nodesOf(launch ? [launch] : launchesOf(program, kernel));
  const some = list.slice(0, 4).join(', ') + (list.length > 4 ? ', ...' : '');
  return `kernel ${launch?.name ?? program.kernels[kernel]?.name} (${list.length ? `nodes: ${some}` : 'of no node'})`;
}
