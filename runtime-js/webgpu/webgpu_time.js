// The time of each launch on WebGPU: by the device's clock where it has one.

import { BufferUsage } from '../gpu_flags.js';

/** @typedef {import('./webgpu_state.js').Prepared} Prepared */

const MOST = 2048; // launches in a query set, which holds 4096 times

/**
 * @param {GPUDevice} device
 * @param {Prepared[]} prepared
 * @param {number} repeat how often each is launched
 * @param {(buffer: GPUBuffer) => Promise<void>} map
 * @returns {ReturnType<import('../device/device_program.js').Device['time']>}
 */
export async function timeLaunches(device, prepared, repeat, map) {
  /** @type {number[]} */
  const ms = [];
  const timer = device.features.has('timestamp-query');
  for (let start = 0; start < prepared.length; start += MOST) {
    const part = prepared.slice(start, start + MOST);
    ms.push(...(await (timer ? byDevice : byPage)(device, part, repeat, map)));
  }
  return { ms, clock: timer ? 'gpu' : 'wall' };
}

/** @type {(device: GPUDevice, prepared: Prepared[], repeat: number, map: (buffer: GPUBuffer) => Promise<void>) => Promise<number[]>} */
async function byDevice(device, prepared, repeat, map) {
  const count = 2 * prepared.length;
  const querySet = device.createQuerySet({ type: 'timestamp', count });
  const { COPY_DST, COPY_SRC, MAP_READ, QUERY_RESOLVE } = BufferUsage;
  const resolved = device.createBuffer({ size: 8 * count, usage: QUERY_RESOLVE | COPY_SRC });
  const staging = device.createBuffer({ size: 8 * count, usage: COPY_DST | MAP_READ });
  const encoder = device.createCommandEncoder();
  prepared.forEach((one, i) => {
    const timestampWrites = { querySet, beginningOfPassWriteIndex: 2 * i, endOfPassWriteIndex: 2 * i + 1 };
    launch(encoder.beginComputePass({ timestampWrites }), one, repeat);
  });
  encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, staging, 0, 8 * count);
  device.queue.submit([encoder.finish()]);
  await map(staging);
  const times = new BigUint64Array(staging.getMappedRange());
  const ms = prepared.map((_, i) => Number((times[2 * i + 1] ?? 0n) - (times[2 * i] ?? 0n)) / 1e6);
  for (const used of [querySet, resolved, staging]) used.destroy();
  return ms;
}

/** @type {typeof byDevice} */
async function byPage(device, prepared, repeat, map) {
  const { COPY_DST, COPY_SRC, MAP_READ } = BufferUsage;
  const source = device.createBuffer({ size: 16, usage: COPY_SRC });
  const staging = device.createBuffer({ size: 16, usage: COPY_DST | MAP_READ });
  /** @param {Prepared[]} launches */
  const finish = async (launches) => {
    const encoder = device.createCommandEncoder();
    for (const one of launches) launch(encoder.beginComputePass(), one, repeat);
    encoder.copyBufferToBuffer(source, 0, staging, 0, 16);
    device.queue.submit([encoder.finish()]);
    await map(staging);
    staging.unmap();
  };
  await finish([]);
  const ms = [];
  for (const one of prepared) {
    const began = performance.now();
    await finish([one]);
    ms.push(performance.now() - began);
  }
  source.destroy();
  staging.destroy();
  return ms;
}

/**
 * @param {GPUComputePassEncoder} pass
 * @param {Prepared} prepared
 * @param {number} repeat
 */
function launch(pass, { pipeline, group, grid }, repeat) {
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  for (let i = 0; i < repeat; i++) pass.dispatchWorkgroups(...grid);
  pass.end();
}
