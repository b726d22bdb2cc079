// A device program on a GPU, whatever its API: what is uploaded when, launched in which order, and what a loss of the
// device costs: everything is set up again, and the run that was interrupted is done once more.

import { DeviceLostError, RunError, UnsupportedError } from '../errors.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { pictureOf } from '../values/check_inputs.js';
import { narrow, widen } from '../values/convert.js';
import { copyOf, lengthOf, typedArray } from '../values/dtypes.js';
import { fetchProgram, fetchWeights, uploadConstants, valueAt, wordsFor } from './device_program.js';
import { isSoftware } from './require_hardware.js';
import { startHost } from './start_host.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Device} Device */
/** @typedef {import('../start_first.js').Input} Input */
/** @typedef {import('../start_first.js').Output} Output */
/** @typedef {import('../model.js').KernelTime} KernelTime */
/** @typedef {import('../model.js').Progress} Progress */
/** @typedef {import('../model.js').TensorInfo} TensorInfo */
/** @typedef {import('./device_program.js').Segment} Segment */
/** @typedef {{ device: Device, host: import('./start_host.js').Host, segments: Segment[], downloads: Segment[] }} Built */

/**
 * @param {import('./device_program.js').Open} open
 * @param {import('./device_program.js').DevicePlan} plan
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<import('../start_first.js').Session>}
 */
export async function startDevice(open, plan, onProgress) {
  const files = watchDownloads(plan);
  const arriving = fetchProgram(plan, files);
  const starting = plan.host && startHost(plan.host, files);
  for (const promise of [arriving, starting]) promise?.catch(() => {}); // it is `build` that waits for them
  let notify = onProgress;
  let { signal } = plan; // of the load, not of what is fetched again after a loss

  /** @returns {Promise<Built>} */
  async function build() {
    const device = await open(arriving, plan);
    const program = await arriving;
    const own = watchDownloads({ ...plan, signal });
    try {
      let loaded = 0;
      const total = program.kernels.length;
      const [weights, host = interpret(program)] = await Promise.all([
        fetchWeights(plan, notify, own),
        starting,
        device.compile(() => notify({ phase: 'compile', loaded: ++loaded, total })),
      ]);
      uploadConstants(device, program, weights);
      host.fill(weights);
      const give = giver(device, host, program);
      /** @type {(entry: string, reads: number[]) => Segment} */
      const segment = (entry, reads) => device.segment((launch) => host.play(entry, { launch, give }), reads);
      if (host.has('load')) await segment('load', [])();
      program.storages.forEach(({ prepareOnly }, i) => {
        if (prepareOnly) device.release(i);
      });
      const reads = program.calls.map((call) => call.reads.map(({ value }) => value));
      const segments = [...reads, onDevice(program.outputs)].map((values, i) => segment(`run_${i}`, values));
      const downloads = reads.map((values) => device.segment(() => {}, values));
      return { device, host, segments, downloads };
    } catch (error) {
      device.dispose();
      throw error;
    } finally {
      own.end();
    }
  }

  /** @type {Built | undefined} */
  let built;
  let ready = false;
  let disposed = false;

  /**
   * @template T
   * @param {boolean} again whether what was interrupted can be repeated
   * @param {(now: Built) => Promise<T>} task
   * @returns {Promise<T>}
   */
  async function withDevice(again, task) {
    for (let attempt = 0; ; attempt++) {
      try {
        built ??= await build();
        if (!disposed) return await task(built);
        throw new DeviceLostError('lost', 'disposed');
      } catch (error) {
        // A device that cannot be had again is as lost as one that breaks down again.
        const unavailable = ready && !built && error instanceof UnsupportedError;
        if (!disposed && !unavailable && !(error instanceof DeviceLostError)) throw error;
        built?.device.dispose();
        built = undefined;
        if (disposed) throw new RunError('disposed', 'the model was disposed of');
        if (unavailable) throw new DeviceLostError('lost', `the device was lost, and ${error.message}`);
        if (attempt || !again) throw error;
      }
    }
  }

  // What is left of a backend that cannot run is given up: the next one needs the bandwidth.
  const program = await withDevice(true, () => arriving).finally(files.end);
  ready = true;
  notify = () => {};
  signal = undefined;
  const { calls } = program;
  const uploads = program.inputs.map((value) => (value < 0 ? undefined : wordsFor(program, value)));
  /** @type {Uint8Array[]} */
  const forHost = [];

  /** @param {Input[]} inputs */
  const pack = (inputs) => {
    inputs.forEach((input, i) => {
      const { dtype, name } = /** @type {TensorInfo} */ (plan.inputs[i]);
      const there = at(program.host?.inputs ?? [], i) >= 0;
      if (ArrayBuffer.isView(input)) {
        if (uploads[i]) widen(dtype, input, uploads[i], `input ${JSON.stringify(name)}`);
        if (there) forHost[i] = copyOf(input);
      } else if (there)
        throw new UnsupportedError(
          'input',
          `input ${JSON.stringify(name)} is read by what runs on the host: give a typed array`,
        );
    });
  };

  /**
   * @param {Built} now
   * @param {Input[]} inputs
   */
  const upload = ({ device, host }, inputs) => {
    inputs.forEach((input, i) => {
      const value = at(program.inputs, i);
      if (forHost[i]) host.put(at(program.host?.inputs ?? [], i), forHost[i]);
      if (ArrayBuffer.isView(input)) {
        if (uploads[i]) device.write(value, uploads[i]);
      } else if ('mapState' in input) device.copy(value, input);
      else {
        const picture = pictureOf(/** @type {TensorInfo} */ (plan.inputs[i]));
        device.draw(value, input, /** @type {import('../values/check_inputs.js').Picture} */ (picture));
      }
    });
  };

  /**
   * Carries out what comes before a call of the host, and gives the host what it reads.
   * @param {Built} now
   * @param {number} i which call
   * @param {Segment} segment
   */
  const cross = async ({ host }, i, segment) => {
    const arrays = await segment();
    at(calls, i).reads.forEach(({ value, offset }, k) => {
      host.put(offset, narrow(valueAt(program, value).dtype, at(arrays, k)));
    });
  };

  /**
   * From where they were computed.
   * @param {Built} now
   * @param {Words[]} arrays what the device has, in order
   * @returns {Output[]}
   */
  const outputsOf = ({ host }, arrays) => {
    const left = arrays.values();
    return program.outputs.map((value, i) => {
      const { dtype, shape } = /** @type {TensorInfo} */ (plan.outputs[i]);
      if (value >= 0) return narrow(dtype, /** @type {Words} */ (left.next().value));
      const length = lengthOf(shape);
      const bytes = new Uint8Array(host.take(at(program.host?.outputs ?? [], i), dtype, length));
      return typedArray(dtype, bytes.buffer);
    });
  };

  /** @param {Device} device */
  const buffersOf = (device) => {
    const missing = program.outputs.findIndex((value) => value < 0);
    if (missing < 0) return program.outputs.map((value) => device.take(value));
    const { name } = /** @type {TensorInfo} */ (plan.outputs[missing]);
    throw new UnsupportedError(
      'output',
      `output ${JSON.stringify(name)} is computed on the host: run without { output }`,
    );
  };

  /**
   * @param {Built} now
   * @param {boolean} download
   */
  const carryOut = async (now, download) => {
    const { device, segments } = now;
    for (let i = 0; i < calls.length; i++) await cross(now, i, at(segments, i));
    const arrays = await at(segments, calls.length)(download);
    return download ? outputsOf(now, arrays) : buffersOf(device);
  };

  /** @param {Built} now */
  const profile = async (now) => {
    const { device, host, downloads } = now;
    const give = giver(device, host, program);
    /** @type {KernelTime[]} */
    const times = [];
    for (let i = 0; i <= calls.length; i++) {
      /** @type {number[]} */
      const order = [];
      const began = performance.now();
      if (i) await cross(now, i - 1, at(downloads, i - 1));
      host.play(`run_${i}`, { launch: (number) => order.push(number), give });
      if (i) {
        const { name, nodes, ops } = at(calls, i - 1);
        times.push({ name, nodes, ops, ms: performance.now() - began, clock: 'wall' });
      }
      const { ms, clock } = await device.time(order);
      order.forEach((number, k) => {
        const { kernel, name, nodes, ops } = at(program.launches, number);
        const { flops, bytes } = at(program.kernels, kernel);
        times.push({ name, nodes, ops, ms: at(ms, k), clock, flops, bytes });
      });
    }
    return times;
  };

  let waiting = 0;
  let tail = Promise.resolve();
  /**
   * Tasks one after the other; what must wait keeps its inputs as they are now.
   * @template T
   * @param {Input[]} inputs
   * @param {(now: Built) => Promise<T>} task
   * @returns {Promise<T>}
   */
  const queue = (inputs, task) => {
    const idle = waiting === 0;
    const kept = idle ? inputs : inputs.map((input) => (ArrayBuffer.isView(input) ? copyOf(input) : input));
    if (idle) pack(kept);
    waiting++;
    const result = tail.then(() => {
      if (!idle) pack(kept);
      return withDevice(kept.every(isPortable), (now) => {
        upload(now, kept);
        return task(now);
      });
    });
    const next = () => void waiting--;
    tail = result.then(next, next);
    return result;
  };

  if (plan.warmup) await withDevice(true, (now) => carryOut(now, true));
  const { adapter, limits, features } = /** @type {Built} */ (/** @type {unknown} */ (built)).device;
  const precision = program.storages.some(({ dtype }) => dtype === 'float16') ? 'f16' : 'f32';
  const memoryBytes = program.storages.reduce((sum, { bytes, prepareOnly }) => sum + (prepareOnly ? 0 : bytes), 0);
  return {
    facts: {
      adapter,
      software: isSoftware(adapter),
      limits,
      features,
      precision,
      memoryBytes,
      crossings: calls.filter(({ reads }) => reads.length).length,
    },
    device: () => built?.device.own,
    run: (inputs, options) => queue(inputs, (now) => carryOut(now, options?.output !== 'gpu-buffer')),
    profile: (inputs) => queue(inputs, profile),
    dispose() {
      disposed = true;
      built?.device.dispose();
    },
  };
}

/**
 * The host of a program that is data: it computes nothing.
 * @param {import('./device_program.js').Program} program
 * @returns {import('./start_host.js').Host}
 */
function interpret({ order = {} }) {
  const nowhere = () => {
    throw new TypeError('a host that is data has no memory');
  };
  return {
    has: (entry) => entry in order,
    play(entry, { launch }) {
      for (const number of order[entry] ?? []) launch(number);
    },
    fill() {},
    put: nowhere,
    take: nowhere,
  };
}

/**
 * What hands the device the results of a call of the host.
 * @param {Device} device
 * @param {import('./start_host.js').Host} host
 * @param {import('./device_program.js').Program} program
 * @returns {(call: number) => void}
 */
function giver(device, host, program) {
  const targets = program.calls.map(({ writes }) => writes.map(({ value }) => wordsFor(program, value)));
  return (call) => {
    const { writes, name } = at(program.calls, call);
    writes.forEach(({ value, offset }, k) => {
      const { dtype, length } = valueAt(program, value);
      const target = at(at(targets, call), k);
      widen(dtype, host.take(offset, dtype, length), target, name);
      device.write(value, target);
    });
  };
}

/** @type {(values: number[]) => number[]} */
const onDevice = (values) => values.filter((value) => value >= 0);

/**
 * @template T
 * @param {T[]} list
 * @param {number} i
 */
const at = (list, i) => /** @type {T} */ (list[i]);

/**
 * Whether an input can be given to another device.
 * @param {Input} input
 */
const isPortable = (input) => ArrayBuffer.isView(input) || input instanceof ImageBitmap;
