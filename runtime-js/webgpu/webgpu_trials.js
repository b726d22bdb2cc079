// Launches on buffers of their own.
import { at } from '../device/device_program.js';
import { BufferUsage } from '../gpu_flags.js';
import { prepareLaunch } from './webgpu_compile.js';
import { awaitLoss, launchAll, readMapped } from './webgpu_launch.js';
import { createBuffer, STORAGE_USAGE, scoped } from './webgpu_state.js';

/** @typedef {import('./webgpu_state.js').State} State */

/** @type {(state: State, ...trial: Parameters<import('../device/device_program.js').TryLaunch>) => Promise<ArrayBuffer | undefined>} */
export async function tryLaunch(state, launch, scalars, contents) {
  /** @type {GPUBuffer[]} */
  const buffers = [];
  const own = { ...state, buffers };
  const { result: staging, reported } = scoped(state, () => {
    for (const array of contents)
      state.device.queue.writeBuffer(createBuffer(own, array.byteLength, STORAGE_USAGE), 0, array);
    const result = at(buffers, contents.length - 1);
    const prepared = prepareLaunch(state, launch, (_, i) => at(buffers, i));
    const staging = createBuffer(own, result.size, BufferUsage.COPY_DST | BufferUsage.MAP_READ);
    launchAll(state, [prepared], [{ number: 0, scalars }], (encoder) =>
      encoder.copyBufferToBuffer(result, 0, staging, 0, result.size),
    );
    return staging;
  });
  try {
    const read = () => staging.getMappedRange().slice(0);
    if ((await reported) === undefined) return await readMapped(state, staging, read);
    await awaitLoss(state);
    return undefined;
  } finally {
    for (const buffer of buffers) buffer.destroy();
  }
}
