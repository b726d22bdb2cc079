// All that a storage has.
import { at } from '../device/device_program.js';
import { BufferUsage } from '../gpu_flags.js';
import { typedArray } from '../values/dtypes.js';
import { readMapped } from './webgpu_launch.js';
import { createBuffer, submit } from './webgpu_state.js';

/** @typedef {import('./webgpu_state.js').State} State */

/**
 * @param {State} state
 * @param {number} storage
 */
export async function readStorage(state, storage) {
  const source = at(state.storages, storage);
  const { bytes, dtype } = at(state.program.storages, storage);
  const staging = createBuffer(
    { device: state.device, buffers: [] },
    bytes,
    BufferUsage.COPY_DST | BufferUsage.MAP_READ,
  );
  submit(state, (encoder) => encoder.copyBufferToBuffer(source, 0, staging, 0, bytes));
  try {
    const read = () => typedArray(dtype, staging.getMappedRange(0, bytes).slice(0));
    return /** @type {import('../values/convert.js').Words} */ (await readMapped(state, staging, read));
  } finally {
    staging.destroy();
  }
}
