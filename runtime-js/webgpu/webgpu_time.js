// The time of each launch on WebGPU: by the device's clock where it has one.

import { at, gridOf } from '../device/device_program.js';
import { BufferUsage } from '../gpu_flags.js';

/** @typedef {import('./webgpu_state.js').State} State */
/** @typedef {(pass: GPUComputePassEncoder) => void} Timed records a launch, and ends the pass */
/** @typedef {<T>(buffer: GPUBuffer, read: () => T) => Promise<T>} ReadMapped */

const MOST = 2048; // launches in a query set, which holds 4096 times

/**
 * @param {State} state
 * @param {readonly import('../device/device_program.js').Started[]} launches
 * @param {number} repeat how often each is launched
 * @param {ReadMapped} readMapped
 * @returns {ReturnType<import('../device/device_program.js').Device['time']>}
 */
export async function timeLaunches(state, launches, repeat, readMapped) {
  const { device } = state;
  /** @type {number[]} */
  const ms = [];
  const timer = device.features.has('timestamp-query');
  for (let start = 0; start < launches.length; ) {
    const part = [];
    // As many as have their scalars in the buffer at a time.
    state.uniforms?.clear();
    while (part.length < MOST && start < launches.length) {
      const next = launchOf(state, at(launches, start), repeat);
      if (!next) break;
      part.push(next);
      start++;
    }
    ms.push(...(await (timer ? byDevice : byPage)(device, part, readMapped)));
  }
  return { ms, clock: timer ? 'gpu' : 'wall' };
}

/**
 * Undefined where there is no room for its scalars.
 * @param {State} state
 * @param {import('../device/device_program.js').Started} launch
 * @param {number} repeat
 * @returns {Timed | undefined}
 */
function launchOf(state, { number, scalars }, repeat) {
  const { pipeline, group, grid: fixed, launch } = at(state.prepared, number);
  const grid = fixed ?? gridOf(at(state.program.kernels, launch.kernel), scalars);
  const offset = scalars.length ? state.uniforms?.place(scalars) : undefined;
  if (scalars.length && offset === undefined) return undefined;
  return (pass) => {
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    if (offset !== undefined) pass.setBindGroup(1, state.uniforms?.group ?? null, [offset]);
    for (let i = 0; i < repeat && !grid.includes(0); i++) pass.dispatchWorkgroups(...grid);
    pass.end();
  };
}

/** @type {(device: GPUDevice, launches: Timed[], readMapped: ReadMapped) => Promise<number[]>} */
async function byDevice(device, launches, readMapped) {
  const count = 2 * launches.length;
  const querySet = device.createQuerySet({ type: 'timestamp', count });
  const { COPY_DST, COPY_SRC, MAP_READ, QUERY_RESOLVE } = BufferUsage;
  const resolved = device.createBuffer({ size: 8 * count, usage: QUERY_RESOLVE | COPY_SRC });
  const staging = device.createBuffer({ size: 8 * count, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  launches.forEach((launch, i) => {
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
    launch(encoder.beginComputePass({ timestampWrites }));
  });
  encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, staging, 0, 8 * count);
  device.queue.submit([encoder.finish()]);
  const times = await readMapped(staging, () => new BigUint64Array(staging.getMappedRange().slice(0)));
  const ms = launches.map((_, i) => Number((times[2 * i + 1] ?? 0n) - (times[2 * i] ?? 0n)) / 1e6);
  for (const used of [querySet, resolved, staging]) used.destroy();
  return ms;
}

/** @type {typeof byDevice} */
async function byPage(device, all, readMapped) {
  const { COPY_DST, COPY_SRC, MAP_READ } = BufferUsage;
  const source = device.createBuffer({ size: 16, usage: COPY_SRC });
  const staging = device.createBuffer({ size: 16, usage: COPY_DST | MAP_READ });
  /** @param {Timed[]} launches */
  const finish = async (launches) => {
    const encoder = device.createCommandEncoder();
    for (const launch of launches) launch(encoder.beginComputePass());
    encoder.copyBufferToBuffer(source, 0, staging, 0, 16);
    device.queue.submit([encoder.finish()]);
    await readMapped(staging, () => staging.unmap());
  };
  await finish([]);
  const ms = [];
  for (const launch of all) {
    const began = performance.now();
    await finish([launch]);
    ms.push(performance.now() - began);
  }
  source.destroy();
  staging.destroy();
  return ms;
}
