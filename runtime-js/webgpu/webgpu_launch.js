// Submits launches, reads values back, and names the launch that fails.
import { at, describe, gridOf, storageOf, valueAt } from '../device/device_program.js';
import { RunError } from '../errors.js';
import { BufferUsage, READ } from '../gpu_flags.js';
import { typedArray } from '../values/dtypes.js';
import { untilDone } from './webgpu_device.js';
import { bufferOf, checkLost, createBuffer, scoped } from './webgpu_state.js';

/** @typedef {import('../device/device_program.js').Started} Started */
/** @typedef {import('./webgpu_state.js').State} State */
/** @typedef {import('./webgpu_state.js').Prepared} Prepared */

const LOSS_MS = 1000; // browsers report a loss some time after what fails by it

/**
 * Submits launches, in one pass, which begins with the first, and what `after` records.
 * @param {State} state
 * @param {Prepared[]} prepared
 * @param {readonly Started[]} launches
 * @param {(encoder: GPUCommandEncoder) => void} [after]
 */
export function launchAll(state, prepared, launches, after) {
  const { queue } = state.device;
  /** @type {GPUCommandEncoder | undefined} */
  let encoder;
  /** @type {GPUComputePassEncoder | undefined} */
  let pass;
  /** @type {GPUComputePipeline | undefined} */
  let current;
  const end = () => {
    pass?.end();
    if (encoder) queue.submit([encoder.finish()]);
    encoder = pass = current = undefined;
  };
  for (const { number, scalars } of launches) {
    const { pipeline, group, grid: fixed, launch } = at(prepared, number);
    const grid = fixed ?? gridOf(at(state.program.kernels, launch.kernel), scalars);
    if (grid.includes(0)) continue;
    let offset = scalars.length ? state.uniforms?.place(scalars) : undefined;
    if (scalars.length && offset === undefined) {
      end();
      state.uniforms?.clear();
      offset = state.uniforms?.place(scalars);
    }
    encoder ??= state.device.createCommandEncoder();
    pass ??= encoder.beginComputePass();
    if (pipeline !== current) pass.setPipeline(pipeline);
    current = pipeline;
    pass.setBindGroup(0, group);
    if (offset !== undefined) pass.setBindGroup(1, state.uniforms?.group ?? null, [offset]);
    pass.dispatchWorkgroups(...grid);
  }
  pass?.end();
  pass = undefined;
  if (after) {
    encoder ??= state.device.createCommandEncoder();
    after(encoder);
  }
  end();
}

/**
 * @param {State} state
 * @param {number[]} reads values
 * @param {import('./webgpu_state.js').Staging} [pool] where the segment has no buffer of its own
 * @returns {import('../device/device_program.js').Segment}
 */
export function createSegment(state, reads, pool = state.staging) {
  const { program, prepared, proven } = state;
  const { COPY_DST, MAP_READ } = BufferUsage;
  let size = 0;
  const places = reads.map((value) => {
    const { length } = valueAt(program, value);
    const start = size;
    size += Math.ceil(length / 2) * 8; // what is mapped begins at a multiple of 8
    return { buffer: bufferOf(state, value), start, bytes: 4 * length, dtype: storageOf(program, value).dtype };
  });
  const own = size && !pool ? createBuffer(state, size, MAP_READ | COPY_DST) : undefined;
  // <states>
  if (size) pool?.prepare([size]);
  // </states>
  return async (launches, lengths) => {
    checkLost(state);
    let staging = own;
    // <states>
    if (size && pool) staging = pool.take(size);
    // </states>
    const parts = places.map((place, i) => ({ ...place, bytes: lengths ? 4 * at(lengths, i) : place.bytes }));
    const copy = (/** @type {GPUCommandEncoder} */ encoder) => {
      for (const { buffer, start, bytes } of parts)
        if (bytes && staging) encoder.copyBufferToBuffer(buffer, 0, staging, start, bytes);
    };
    const run = () => launchAll(state, prepared, launches, staging ? copy : undefined);
    const fresh = launches.filter(({ number }) => !proven.has(number));
    if (fresh.length) await checkFirstRun(state, fresh, run);
    else run();
    const read = () =>
      parts.map(({ start, bytes, dtype }) => {
        const copy = (bytes && staging?.getMappedRange(start, bytes).slice(0)) || new ArrayBuffer(0);
        return /** @type {import('../values/convert.js').Words} */ (typedArray(dtype, copy));
      });
    const copies = staging ? await readMapped(state, staging, read) : read();
    staging?.unmap();
    // <states>
    if (staging) pool?.give(size, staging);
    // </states>
    return copies;
  };
}

/**
 * Runs launches of which some are carried out for the first time: RunError where the device reports an error.
 * @param {State} state
 * @param {readonly Started[]} fresh
 * @param {() => void} run
 */
async function checkFirstRun(state, fresh, run) {
  const message = await scoped(state, run).reported;
  if (message !== undefined)
    throw new RunError('device', `WebGPU: ${(await findFailingLaunch(state, fresh)) ?? message}`);
  for (const { number } of fresh) state.proven.add(number);
}

/**
 * Names the launch that makes the device report an error: each by itself.
 * @param {State} state
 * @param {readonly Started[]} launches
 */
async function findFailingLaunch(state, launches) {
  const { program, prepared } = state;
  for (const one of launches) {
    const { reported } = scoped(state, () => launchAll(state, prepared, [one]));
    const message = await reported;
    if (message === undefined) continue;
    const { launch } = at(prepared, one.number);
    return `${describe(program, launch.kernel, launch)}: ${message}`;
  }
  return undefined;
}

/**
 * The result of `read`, once the buffer is mapped. A loss may come in between, which unmaps it.
 * @template T
 * @param {State} state
 * @param {GPUBuffer} buffer
 * @param {() => T} read
 * @returns {Promise<T>}
 */
export async function readMapped(state, buffer, read) {
  try {
    await untilDone(state.device.queue, buffer.mapAsync(READ));
    return read();
  } catch (error) {
    await awaitLoss(state);
    throw error;
  }
}

/**
 * Behind an error, which a device that is lost may report before it says so.
 * @param {State} state
 * @throws {DeviceLostError} where it is lost
 */
export async function awaitLoss(state) {
  await Promise.race([state.losing, new Promise((resolve) => setTimeout(resolve, LOSS_MS))]);
  checkLost(state);
}
