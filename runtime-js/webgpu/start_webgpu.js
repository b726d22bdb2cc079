// Device programs on WebGPU: one command encoder, one pass and one submit for all launches between two readbacks.
import { requireHardware } from '../device/require_hardware.js';
import { startDevice } from '../device/start_device.js';
import * as optional from './optional_webgpu.js';
import { nameOf, requestAdapter } from './webgpu_adapter.js';
import { compileKernels } from './webgpu_compile.js';
import { getDevice } from './webgpu_device.js';
import { createSegment, readMapped } from './webgpu_launch.js';
import { createPainter } from './webgpu_picture.js';
import { bufferOf, createState, createStorages, STORAGE_USAGE, submit } from './webgpu_state.js';
// <check>
import { readStorage } from './webgpu_storage.js';
// </check>
import { timeLaunches } from './webgpu_time.js';
import { prepareTrial } from './webgpu_trial.js';
// <trials>
import { tryLaunch } from './webgpu_trials.js';
// </trials>

/** @typedef {import('./webgpu_state.js').State} State */

/** @param {import('../device/device_program.js').DevicePlan} plan @param {(notice: import('../start_session.js').Notice) => void} notify */
export async function startWebgpu(plan, notify) {
  if (plan.hardware) {
    const adapter = await requestAdapter();
    await requireHardware(nameOf(adapter.info), () => prepareTrial(adapter));
  }
  return startDevice(open, plan, notify);
}

/** @type {import('../device/device_program.js').Open} */
async function open(arriving, { device: own }) {
  const [source, program] = await Promise.all([own ?? requestAdapter(), arriving]);
  const { device, ...facts } = await getDevice(program, source);
  const state = createState(device, program);
  // <states>
  state.staging = optional.webgpuStates.createStaging(state);
  // </states>
  const dispose = () => {
    for (const buffer of state.buffers) buffer.destroy();
    if (!own) device.destroy();
  };
  try {
    await createStorages(state);
    if (program.kernels.some(({ scalars }) => scalars)) state.uniforms = optional.createUniforms(state);
  } catch (error) {
    dispose();
    throw error;
  }
  return deviceOf(state, facts, dispose);
}

/**
 * @param {State} state
 * @param {{ adapter: string, limits: Record<string, number>, features: string[] }} facts
 * @param {() => void} dispose
 * @returns {import('../device/device_program.js').Device}
 */
function deviceOf(state, facts, dispose) {
  const { device, storages } = state;
  const painter = createPainter(device);
  return {
    ...facts,
    own: device,
    compile: (...more) => compileKernels(state, facts.features.includes('subgroups'), ...more),
    // <trials>
    tryLaunch: (...trial) => tryLaunch(state, ...trial),
    // </trials>
    // <check>
    readStorage: (storage) => readStorage(state, storage),
    // </check>
    segment: (reads) => createSegment(state, reads),
    write: (value, data) => device.queue.writeBuffer(bufferOf(state, value), 0, data),
    draw: (value, source, picture) => painter.draw(source, bufferOf(state, value), picture),
    copy: (value, source, runs) =>
      submit(state, (encoder) => {
        for (const { dense, spaced, length } of runs)
          encoder.copyBufferToBuffer(source, 4 * dense, bufferOf(state, value), 4 * spaced, 4 * length);
      }),
    copyOut(value, runs) {
      const size = runs.reduce((sum, { length }) => sum + 4 * length, 0);
      const buffer = device.createBuffer({ size: Math.max(4, size), usage: STORAGE_USAGE });
      submit(state, (encoder) => {
        for (const { dense, spaced, length } of runs)
          encoder.copyBufferToBuffer(bufferOf(state, value), 4 * spaced, buffer, 4 * dense, 4 * length);
      });
      return buffer;
    },
    time: (launches, repeat) =>
      timeLaunches(state, launches, repeat, (buffer, read) => readMapped(state, buffer, read)),
    release: (storage) => storages[storage]?.destroy(),
    // <states>
    held: state,
    segmentOnce: (reads) => createSegment(state, reads, optional.webgpuStates.stageOnce(state)),
    clearStates: () => optional.webgpuStates.clear(state),
    copyStates: (from) => optional.webgpuStates.copy(state, /** @type {State} */ (from)),
    async session() {
      const { own, dispose } = await optional.webgpuStates.create(state);
      return deviceOf(own, facts, dispose);
    },
    // </states>
    // <generate>
    ...optional.ahead.on(state),
    sentScalars: () => state.uniforms?.sent ?? 0,
    // </generate>
    dispose() {
      painter.dispose();
      dispose();
    },
  };
}
