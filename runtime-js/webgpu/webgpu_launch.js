// Submits launches, reads values back, and names the launch that fails.
import { at, describe, storageOf, valueAt } from '../device/device_program.js';
import { RunError } from '../errors.js';
import { BufferUsage, READ } from '../gpu_flags.js';
import { words } from '../values/convert.js';
import { untilDone } from './webgpu_device.js';
import { bufferOf, checkLost, createBuffer, scoped, submit } from './webgpu_state.js';

/** @typedef {import('../device/device_program.js').Play} Play */
/** @typedef {import('./webgpu_state.js').State} State */
/** @typedef {import('./webgpu_state.js').Prepared} Prepared */

const LOSS_MS = 1000; // browsers report a loss some time after what fails by it

/**
 * All that is launched, in one pass, which begins with the first; returns whether there was any.
 * @param {GPUCommandEncoder} encoder
 * @param {Prepared[]} prepared
 * @param {Play} play
 */
export function encode(encoder, prepared, play) {
  /** @type {GPUComputePassEncoder | undefined} */
  let pass;
  /** @type {GPUComputePipeline | undefined} */
  let current;
  play((number) => {
    const { pipeline, group, grid } = at(prepared, number);
    pass ??= encoder.beginComputePass();
    if (pipeline !== current) pass.setPipeline(pipeline);
    current = pipeline;
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...grid);
  });
  pass?.end();
  return pass !== undefined;
}

/**
 * @param {State} state
 * @param {Play} play
 * @param {number[]} reads values
 * @returns {import('../device/device_program.js').Segment}
 */
export function createSegment(state, play, reads) {
  const { device, program, prepared } = state;
  const { COPY_DST, MAP_READ } = BufferUsage;
  let size = 0;
  const places = reads.map((value) => {
    const { length } = valueAt(program, value);
    const start = size;
    size += Math.ceil(length / 2) * 8; // what is mapped begins at a multiple of 8
    return { buffer: bufferOf(state, value), start, bytes: 4 * length, dtype: storageOf(program, value).dtype };
  });
  const staging = size ? createBuffer(state, size, MAP_READ | COPY_DST) : undefined;
  /** @param {Play} play @param {boolean} download */
  const run = (play, download) => {
    const encoder = device.createCommandEncoder();
    const any = encode(encoder, prepared, play);
    if (download && staging) {
      for (const { buffer, start, bytes } of places)
        if (bytes) encoder.copyBufferToBuffer(buffer, 0, staging, start, bytes);
    }
    if (any || staging) device.queue.submit([encoder.finish()]);
  };
  let proven = false;
  return async (download = true) => {
    checkLost(state);
    if (proven) run(play, download);
    else await prove(state, play, (play) => run(play, download));
    proven = true;
    if (!download) return [];
    if (staging) await mapBuffer(state, staging);
    const copies = places.map(({ start, bytes, dtype }) =>
      words(dtype, bytes / 4, bytes ? staging?.getMappedRange(start, bytes).slice(0) : new ArrayBuffer(0)),
    );
    staging?.unmap();
    return copies;
  };
}

/**
 * Runs launches for the first time: RunError where the device reports an error.
 * @param {State} state
 * @param {Play} play
 * @param {(play: Play) => void} run
 */
async function prove(state, play, run) {
  /** @type {number[]} */
  const seen = [];
  play((number) => seen.push(number));
  const message = await scoped(state, () => run((launch) => seen.forEach(launch))).reported;
  if (message !== undefined) throw new RunError('device', `WebGPU: ${(await blame(state, seen)) ?? message}`);
}

/**
 * Names the launch that makes the device report an error: each by itself.
 * @param {State} state
 * @param {number[]} launches
 */
async function blame(state, launches) {
  const { program, prepared } = state;
  for (const number of launches) {
    const { reported } = scoped(state, () =>
      submit(state, (encoder) => encode(encoder, prepared, (launch) => launch(number))),
    );
    const message = await reported;
    if (message === undefined) continue;
    const { launch } = at(prepared, number);
    return `${describe(program, launch.kernel, launch)}: ${message}`;
  }
  return undefined;
}

/** @param {State} state @param {GPUBuffer} buffer */
export async function mapBuffer(state, buffer) {
  try {
    await untilDone(state.device.queue, buffer.mapAsync(READ));
  } catch (error) {
    await Promise.race([state.losing, new Promise((resolve) => setTimeout(resolve, LOSS_MS))]);
    checkLost(state);
    throw error;
  }
}
