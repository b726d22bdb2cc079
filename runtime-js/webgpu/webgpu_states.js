// Buffers of states for each session on WebGPU, with bind groups for the launches that use them.
import { createPool, keepNothing } from '../device/buffer_pool.js';
import { at, storageOf } from '../device/device_program.js';
import { UnsupportedError } from '../errors.js';
import { BufferUsage } from '../gpu_flags.js';
import { prepareLaunch } from './webgpu_compile.js';
import { createBuffer, STORAGE_USAGE, scoped, submit } from './webgpu_state.js';

/** @typedef {import('./webgpu_state.js').State} State */

/**
 * All that `state` has, but for states.
 * @param {State} state
 * @returns {Promise<{ own: State, dispose: () => void }>}
 */
async function create(state) {
  const { program } = state;
  /** @type {State} */
  const own = Object.create(state); // whose loss is its own
  own.buffers = [];
  const { result, reported } = scoped(state, () =>
    program.storages.map((storage, i) =>
      storage.state ? createBuffer(own, storage.bytes, STORAGE_USAGE) : at(state.storages, i),
    ),
  );
  own.storages = result;
  const dispose = () => {
    for (const buffer of own.buffers) buffer.destroy();
    state.buffers = state.buffers.filter((one) => one !== whole);
  };
  const whole = { destroy: dispose };
  state.buffers.push(whole);
  const refused = await reported;
  if (refused !== undefined) {
    dispose();
    throw new UnsupportedError(
      'memory',
      `WebGPU did not allocate memory for the states of one more session: ${refused}`,
    );
  }
  own.prepared = program.launches.map((launch, number) =>
    launch.arguments.some((value) => storageOf(program, value).state)
      ? prepareLaunch(own, launch)
      : at(state.prepared, number),
  );
  return { own, dispose };
}

/** @type {(state: State, use: (buffer: GPUBuffer, storage: number) => void) => void} */
const each = ({ program, storages }, use) => {
  program.storages.forEach((storage, i) => {
    if (storage.state) use(at(storages, i), i);
  });
};

/** @param {State} state */
const clear = (state) => submit(state, (encoder) => each(state, (buffer) => encoder.clearBuffer(buffer)));

/** @type {(to: State, from: State) => void} */
const copy = (to, from) =>
  submit(to, (encoder) =>
    each(to, (buffer, i) => encoder.copyBufferToBuffer(at(from.storages, i), 0, buffer, 0, buffer.size)),
  );

const STAGING_USAGE = BufferUsage.MAP_READ | BufferUsage.COPY_DST;

/** @param {State} state */
const createStaging = (state) => createPool((bytes) => createBuffer(state, bytes, STAGING_USAGE));

/** @param {State} state */
const stageOnce = ({ device }) =>
  keepNothing(
    (size) => device.createBuffer({ size, usage: STAGING_USAGE }),
    (buffer) => buffer.destroy(),
  );

export const webgpuStates = { clear, copy, create, createStaging, stageOnce };
