// Launches on buffers of their own.
import { at } from '../device/device_program.js';
import { BufferUsage } from '../gpu_flags.js';
import { createPipeline, prepareLaunch } from './webgpu_compile.js';
import { launchAll, readMapped } from './webgpu_launch.js';
import { createBuffer, STORAGE_USAGE, scoped } from './webgpu_state.js';

/** @typedef {import('./webgpu_state.js').State} State */

/** @type {(state: State, ...trial: Parameters<import('../device/device_program.js').TryLaunch>) => Promise<ArrayBuffer | undefined>} */
export async function tryLaunch(state, launch, scalars, contents) {
  const own = { ...state, buffers: /** @type {State['buffers']} */ ([]) };
  const { result: staging, reported } = scoped(state, () => {
    const buffers = contents.map((array) => {
      const buffer = createBuffer(own, array.byteLength, STORAGE_USAGE);
      state.device.queue.writeBuffer(buffer, 0, array);
      return buffer;
    });
    const result = at(buffers, buffers.length - 1);
    const staging = createBuffer(own, result.size, BufferUsage.COPY_DST | BufferUsage.MAP_READ);
    const prepared = prepareLaunch(state, launch, (_, i) => at(buffers, i));
    launchAll(state, [prepared], [{ number: 0, scalars }], (encoder) =>
      encoder.copyBufferToBuffer(result, 0, staging, 0, result.size),
    );
    return staging;
  });
  try {
    if ((await reported) !== undefined) return undefined;
    return await readMapped(state, staging, () => staging.getMappedRange().slice(0));
  } finally {
    for (const buffer of own.buffers) buffer.destroy();
  }
}

/**
 * Compiles a kernel that was compiled for subgroups from its other source: false where there is none.
 * @param {State} state
 * @param {boolean} subgroups whether the device has them
 * @param {number} number
 */
export async function recompile(state, subgroups, number) {
  const { kernels, launches } = state.program;
  const kernel = at(kernels, number);
  if (!subgroups || !kernel.subgroups) return false;
  delete kernel.subgroups;
  state.pipelines[number] = await createPipeline(state, false, number);
  state.prepared = launches.map((launch) => prepareLaunch(state, launch));
  return true;
}
