// What a program has on a WebGPU device: buffers, pipelines, bind groups; and errors that the device reports later.
import { at, valueAt } from '../device/device_program.js';
import { DeviceLostError, UnsupportedError } from '../errors.js';
import { BufferUsage } from '../gpu_flags.js';

/** @typedef {import('../device/device_program.js').Launch} Launch */
/**
 * @typedef {{ pipeline: GPUComputePipeline, group: GPUBindGroup, grid?: [number, number, number], launch: Launch }} Prepared
 *   `grid` where it is always the same
 */
/**
 * @typedef {object} State
 * @property {GPUDevice} device
 * @property {import('../device/device_program.js').Program} program
 * @property {string | undefined} lost why the device is
 * @property {Promise<void>} losing resolves when `lost` is there
 * @property {{ destroy(): void }[]} buffers all that are destroyed with it
 * @property {GPUBuffer[]} storages
 * @property {Map<string, GPUBindGroupLayout>} layouts by access
 * @property {GPUComputePipeline[]} pipelines by kernel
 * @property {Prepared[]} prepared by number of the launch
 * @property {Set<number>} proven launches that were carried out without an error
 * @property {import('./webgpu_uniforms.js').Uniforms | undefined} [uniforms] where kernels take scalars
 * @property {Staging} [staging] of all sessions, where there are any
 */
/** @typedef {import('../device/buffer_pool.js').Pool<GPUBuffer>} Staging */

const { COPY_DST, COPY_SRC, STORAGE } = BufferUsage;
export const STORAGE_USAGE = STORAGE | COPY_SRC | COPY_DST;

/**
 * @param {GPUDevice} device
 * @param {State['program']} program
 * @returns {State}
 */
export function createState(device, program) {
  /** @type {State} */
  const state = {
    ...{ device, program, lost: undefined, buffers: [], storages: [], layouts: new Map(), pipelines: [], prepared: [] },
    proven: new Set(),
    losing: device.lost.then(({ reason, message }) => {
      state.lost = message || reason;
    }),
  };
  return state;
}

/**
 * Zeroed by a command, too: halos rely on it, and the browser's own zeroing has failed on some drivers.
 * @param {State} state
 */
export async function createStorages(state) {
  const { result, reported } = scoped(state, () => {
    const made = state.program.storages.map(({ bytes }) => createBuffer(state, bytes, STORAGE_USAGE));
    submit(state, (encoder) => {
      for (const buffer of made) encoder.clearBuffer(buffer);
    });
    return made;
  });
  state.storages = result;
  const refused = await reported;
  if (refused !== undefined)
    throw new UnsupportedError('memory', `WebGPU did not allocate the memory that the model needs: ${refused}`);
}

/**
 * @param {Pick<State, 'device' | 'buffers'>} state
 * @param {number} size bytes
 * @param {GPUBufferUsageFlags} usage
 */
export function createBuffer({ device, buffers }, size, usage) {
  const buffer = device.createBuffer({ size: Math.max(16, Math.ceil(size / 16) * 16), usage });
  buffers.push(buffer);
  return buffer;
}

/** @param {State} state @param {number} value */
export const bufferOf = ({ program, storages }, value) => at(storages, valueAt(program, value).storage);

/** @param {State} state */
export function checkLost({ lost }) {
  if (lost !== undefined) throw new DeviceLostError('lost', `the WebGPU device was lost: ${lost}`);
}

/**
 * The result of `use`, and the error that the device reports about it.
 * @template T
 * @param {State} state
 * @param {() => T} use
 * @returns {{ result: T, reported: Promise<string | undefined> }}
 */
export function scoped(state, use) {
  const { device } = state;
  const filters = /** @type {const} */ (['validation', 'internal', 'out-of-memory']);
  for (const filter of filters) device.pushErrorScope(filter);
  const result = use();
  const errors = filters.map(() => device.popErrorScope());
  const first = Promise.all(errors).then((messages) => messages.find((error) => error)?.message);
  return { result, reported: first.catch((error) => (state.lost ? undefined : error.message)) };
}

/**
 * Submits what `record` records.
 * @param {State} state
 * @param {(encoder: GPUCommandEncoder) => void} record
 */
export function submit({ device }, record) {
  const encoder = device.createCommandEncoder();
  record(encoder);
  device.queue.submit([encoder.finish()]);
}
