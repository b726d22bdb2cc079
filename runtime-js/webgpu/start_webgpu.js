// Device programs on WebGPU: one command encoder, one pass and one submit for all launches between two readbacks.

import { describe, valueAt } from '../device/device_program.js';
import { requireHardware } from '../device/require_hardware.js';
import { startDevice } from '../device/start_device.js';
import { DeviceLostError, RunError, UnsupportedError } from '../errors.js';
import { BufferUsage, COMPUTE, READ } from '../gpu_flags.js';
import { words } from '../values/convert.js';
import { getDevice, nameOf, requestAdapter, untilDone } from './webgpu_device.js';
import { createPainter } from './webgpu_picture.js';
import { timeLaunches } from './webgpu_time.js';
import { prepareTrial } from './webgpu_trial.js';

/** @typedef {import('../device/device_program.js').Program} Program */
/** @typedef {import('../device/device_program.js').Launch} Launch */
/** @typedef {import('../device/device_program.js').Play} Play */
/** @typedef {{ pipeline: GPUComputePipeline, group: GPUBindGroup, grid: [number, number, number], launch: Launch }} Prepared */

/** @param {import('../device/device_program.js').DevicePlan} plan @param {(progress: import('../model.js').Progress) => void} onProgress */
export async function startWebgpu(plan, onProgress) {
  if (plan.hardware) {
    const adapter = await requestAdapter();
    await requireHardware(nameOf(adapter.info), () => prepareTrial(adapter));
  }
  return startDevice(open, plan, onProgress);
}

/** @type {import('../device/device_program.js').Open} */
async function open(arriving, { device: given }) {
  const [found, program] = await Promise.all([given ?? requestAdapter(), arriving]);
  const { device, adapter, limits, features } = await getDevice(program, found);
  /** @type {string | undefined} */
  let lost;
  const losing = device.lost.then(({ reason, message }) => {
    lost = message || reason;
  });
  const lostError = () => new DeviceLostError('lost', `the WebGPU device was lost: ${lost}`);
  const { queue } = device;
  /** @type {GPUBuffer[]} */
  const buffers = [];

  /**
   * @param {number} size bytes
   * @param {GPUBufferUsageFlags} usage
   */
  const createBuffer = (size, usage) => {
    const buffer = device.createBuffer({ size: Math.max(16, Math.ceil(size / 16) * 16), usage });
    buffers.push(buffer);
    return buffer;
  };
  const { COPY_DST, COPY_SRC, MAP_READ, STORAGE } = BufferUsage;
  const usage = STORAGE | COPY_SRC | COPY_DST;

  /**
   * What `use` makes, and the error that it makes the device report.
   * @template T
   * @param {() => T} use
   * @returns {{ made: T, reported: Promise<string | undefined> }}
   */
  const scoped = (use) => {
    const filters = /** @type {const} */ (['validation', 'internal', 'out-of-memory']);
    for (const filter of filters) device.pushErrorScope(filter);
    const made = use();
    const errors = filters.map(() => device.popErrorScope());
    const first = Promise.all(errors).then((found) => found.find((error) => error)?.message);
    return { made, reported: first.catch((error) => (lost ? undefined : error.message)) };
  };

  const { made: storages, reported } = scoped(() => program.storages.map(({ bytes }) => createBuffer(bytes, usage)));
  const refused = await reported;
  if (refused !== undefined) {
    for (const buffer of buffers) buffer.destroy();
    if (!given) device.destroy();
    throw new UnsupportedError('memory', `WebGPU does not give the memory that the model needs: ${refused}`);
  }
  const bufferOf = (/** @type {number} */ value) =>
    /** @type {GPUBuffer} */ (storages[valueAt(program, value).storage]);

  /** @type {Map<string, GPUBindGroupLayout>} by access */
  const layouts = new Map();
  const layoutOf = (/** @type {string} */ access) => {
    let layout = layouts.get(access);
    if (!layout) {
      layout = device.createBindGroupLayout({
        entries: [...access].map((letter, binding) => ({
          binding,
          visibility: COMPUTE,
          buffer: { type: letter === 'w' ? 'storage' : 'read-only-storage' },
        })),
      });
      layouts.set(access, layout);
    }
    return layout;
  };

  /** @type {GPUComputePipeline[]} */
  const pipelines = [];
  /** @type {Prepared[]} by number of the launch */
  let prepared = [];
  const compile = async (/** @type {() => void} */ onKernel) => {
    await Promise.all(
      program.kernels.map(async ({ name, source, subgroups, access }, i) => {
        const code = subgroups && features.includes('subgroups') ? subgroups : source;
        /** @type {GPUShaderModule | undefined} */
        let module;
        const { made, reported } = scoped(() => {
          module = device.createShaderModule({ code, label: name });
          const layout = device.createPipelineLayout({ bindGroupLayouts: [layoutOf(access)] });
          return device.createComputePipelineAsync({ label: name, layout, compute: { module, entryPoint: 'main' } });
        });
        /** @type {Error | undefined} */
        let thrown;
        const pipeline = await made.catch((error) => {
          thrown = error;
        });
        const message = (await reported) ?? thrown?.message;
        if (lost) throw lostError();
        if (message !== undefined || !pipeline) {
          const notes = (await module?.getCompilationInfo())?.messages ?? [];
          const why = notes.map((note) => `line ${note.lineNum}: ${note.message}`).join('; ') || message;
          throw new UnsupportedError('compile', `WebGPU refuses ${describe(program, i)}: ${why}`);
        }
        pipelines[i] = pipeline;
        onKernel();
        warmUp(i);
      }),
    );
    prepared = program.launches.map(prepare);
  };

  /**
   * Some drivers translate a shader when it is first dispatched: so one workgroup is, while weights and other pipelines
   * are on their way. What it writes, a run writes again before it reads it.
   * @param {number} kernel
   */
  const warmUp = (kernel) => {
    const launch = program.launches.find((launch) => launch.kernel === kernel);
    if (!launch) return;
    scoped(() => {
      const encoder = device.createCommandEncoder();
      encode(encoder, [{ ...prepare(launch), grid: [1, 1, 1] }], (launch) => launch(0));
      queue.submit([encoder.finish()]);
    });
  };

  /**
   * @param {Launch} launch
   * @returns {Prepared}
   */
  const prepare = (launch) => {
    const { access, grid } = /** @type {import('../device/device_program.js').Kernel} */ (
      program.kernels[launch.kernel]
    );
    const group = device.createBindGroup({
      layout: layoutOf(access),
      entries: launch.arguments.map((value, binding) => ({ binding, resource: { buffer: bufferOf(value) } })),
    });
    return { pipeline: /** @type {GPUComputePipeline} */ (pipelines[launch.kernel]), group, grid, launch };
  };

  /**
   * Names the launch that makes the device report an error: each by itself.
   * @param {number[]} launches
   */
  const blame = async (launches) => {
    for (const number of launches) {
      const { reported } = scoped(() => {
        const encoder = device.createCommandEncoder();
        encode(encoder, prepared, (launch) => launch(number));
        queue.submit([encoder.finish()]);
      });
      const message = await reported;
      if (message === undefined) continue;
      const { launch } = /** @type {Prepared} */ (prepared[number]);
      return `${describe(program, launch.kernel, launch)}: ${message}`;
    }
    return undefined;
  };

  /** @param {GPUBuffer} buffer */
  const map = async (buffer) => {
    try {
      await untilDone(queue, buffer.mapAsync(READ));
    } catch (error) {
      await Promise.race([losing, new Promise((resolve) => setTimeout(resolve, LOSS_MS))]);
      throw lost ? lostError() : error;
    }
  };

  /** @type {import('../device/device_program.js').Device['segment']} */
  const segment = (play, reads) => {
    let size = 0;
    const places = reads.map((value) => {
      const { length, storage } = valueAt(program, value);
      const at = size;
      size += Math.ceil(length / 2) * 8; // what is mapped begins at a multiple of 8
      return { buffer: bufferOf(value), at, bytes: 4 * length, dtype: program.storages[storage]?.dtype };
    });
    const staging = size ? createBuffer(size, MAP_READ | COPY_DST) : undefined;
    let proven = false;
    return async (download = true) => {
      if (lost) throw lostError();
      /** @param {Play} play */
      const run = (play) => {
        const encoder = device.createCommandEncoder();
        const any = encode(encoder, prepared, play);
        if (download && staging) {
          for (const { buffer, at, bytes } of places)
            if (bytes) encoder.copyBufferToBuffer(buffer, 0, staging, at, bytes);
        }
        if (any || staging) queue.submit([encoder.finish()]);
      };
      if (proven) run(play);
      else {
        /** @type {number[]} */
        const seen = [];
        play((number) => seen.push(number));
        const again = (/** @type {(number: number) => void} */ launch) => {
          for (const number of seen) launch(number);
        };
        const message = await scoped(() => run(again)).reported;
        if (message !== undefined) throw new RunError('device', `WebGPU: ${(await blame(seen)) ?? message}`);
        proven = true;
      }
      if (!download) return [];
      if (staging) await map(staging);
      const copies = places.map(({ at, bytes, dtype = 'float32' }) =>
        words(dtype, bytes / 4, bytes ? staging?.getMappedRange(at, bytes).slice(0) : new ArrayBuffer(0)),
      );
      staging?.unmap();
      return copies;
    };
  };

  const painter = createPainter(device);
  return {
    adapter,
    limits,
    features,
    own: device,
    compile,
    segment,
    write: (value, data) => queue.writeBuffer(bufferOf(value), 0, data),
    draw: (value, source, picture) => painter.draw(source, bufferOf(value), picture),
    copy(value, source) {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(source, 0, bufferOf(value), 0, 4 * valueAt(program, value).length);
      queue.submit([encoder.finish()]);
    },
    take(value) {
      const size = 4 * valueAt(program, value).length;
      const buffer = device.createBuffer({ size: Math.max(4, size), usage });
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(bufferOf(value), 0, buffer, 0, size);
      queue.submit([encoder.finish()]);
      return buffer;
    },
    time: (launches) =>
      timeLaunches(
        device,
        launches.map((number) => /** @type {Prepared} */ (prepared[number])),
        map,
      ),
    release: (storage) => storages[storage]?.destroy(),
    dispose() {
      for (const buffer of buffers) buffer.destroy();
      painter.dispose();
      if (!given) device.destroy();
    },
  };
}

const LOSS_MS = 1000; // browsers tell of a loss some time after what fails by it

/**
 * All that is launched in one pass, which begins with the first; tells whether there was any.
 * @param {GPUCommandEncoder} encoder
 * @param {Prepared[]} prepared
 * @param {Play} play
 */
function encode(encoder, prepared, play) {
  /** @type {GPUComputePassEncoder | undefined} */
  let pass;
  /** @type {GPUComputePipeline | undefined} */
  let current;
  play((number) => {
    const { pipeline, group, grid } = /** @type {Prepared} */ (prepared[number]);
    pass ??= encoder.beginComputePass();
    if (pipeline !== current) pass.setPipeline(pipeline);
    current = pipeline;
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...grid);
  });
  pass?.end();
  return pass !== undefined;
}
