// A run on a device that has its inputs: segments of launches, calls of the host in between, outputs; or the time of each.
import { UnsupportedError } from '../errors.js';
import { narrow, words } from '../values/convert.js';
import { lengthOf, typedArray } from '../values/dtypes.js';
import { extentsOf, shapeOf, varies } from '../values/sizes.js';
import { reachOf, runsOf } from '../values/strided.js';
import { at, storageOf, valueAt } from './device_program.js';
import { carryOutSteps } from './play_steps.js';

/** @typedef {import('../model.js').KernelTime} KernelTime */
/** @typedef {import('../start_first.js').Input} Input */
/** @typedef {import('../start_first.js').Output} Output */
/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./device_program.js').Segment} Segment */

/**
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions
 * @param {boolean} download else outputs stay on the device
 * @returns {Promise<Output[]>}
 */
export async function carryOut(now, inputs, sizes, download) {
  const { segments, program, pending, flush } = now;
  const scalars = [...sizes];
  if (program.steps) {
    await carryOutSteps(now, { scalars, inputs, pending }, flush);
    const reads = download ? program.outputs.filter((value) => value >= 0) : [];
    const layouts = layoutsOf(now, scalars).filter((_, i) => at(program.outputs, i) >= 0);
    const arrays = await flush(reads, download ? layouts.map(({ runs }) => reachOf(runs)) : []);
    pending.length = 0;
    return download ? outputsOf(now, arrays, scalars) : buffersOf(now, scalars);
  }
  const last = segments.length - 1;
  for (let i = 0; i < last; i++) await cross(now, i, at(segments, i));
  const arrays = await at(segments, last)(download);
  return download ? outputsOf(now, arrays, scalars) : buffersOf(now, scalars);
}

/**
 * Carries out what comes before a call of the host, and gives the host what it reads.
 * @param {Built} now
 * @param {number} i which call
 * @param {Segment} segment
 */
async function cross({ host, program }, i, segment) {
  const arrays = await segment();
  at(program.calls, i).reads.forEach(({ value, offset }, k) => {
    host.put(offset, narrow(valueAt(program, value).dtype, at(arrays, k)));
  });
}

/**
 * Of each output its shape, and where its elements are.
 * @param {Built} now
 * @param {readonly number[]} scalars
 */
const layoutsOf = ({ plan }, scalars) =>
  plan.outputs.map(({ dtype, shape: sizes }) => {
    const shape = shapeOf(sizes, scalars);
    return { dtype, shape, varies: varies(sizes), runs: runsOf(extentsOf(sizes), shape) };
  });

/**
 * From where they were computed.
 * @param {Built} now
 * @param {Words[]} arrays what the device has, in order
 * @param {readonly number[]} scalars
 * @returns {Output[]}
 */
function outputsOf(now, arrays, scalars) {
  const { host, program } = now;
  const left = arrays.values();
  return layoutsOf(now, scalars).map(({ dtype, shape, varies, runs }, i) => {
    const value = at(program.outputs, i);
    if (value >= 0) {
      const whole = /** @type {Words} */ (left.next().value);
      if (!varies) return narrow(dtype, whole);
      const dense = words(storageOf(program, value).dtype, lengthOf(shape));
      for (const run of runs) dense.set(whole.subarray(run.spaced, run.spaced + run.length), run.dense);
      return Object.assign(narrow(dtype, dense), { shape });
    }
    const { buffer } = new Uint8Array(host.take(at(program.host?.outputs ?? [], i), dtype, reachOf(runs)));
    const whole = typedArray(dtype, buffer);
    if (!varies) return whole;
    const dense = typedArray(dtype, new ArrayBuffer(lengthOf(shape) * whole.BYTES_PER_ELEMENT));
    for (const run of runs)
      dense.set(/** @type {any} */ (whole.subarray(run.spaced, run.spaced + run.length)), run.dense);
    return Object.assign(dense, { shape });
  });
}

/**
 * @param {Built} now
 * @param {readonly number[]} scalars
 */
function buffersOf(now, scalars) {
  const { device, plan, program } = now;
  const missing = program.outputs.findIndex((value) => value < 0);
  if (missing >= 0) {
    throw new UnsupportedError(
      'output',
      `output ${JSON.stringify(plan.outputs[missing]?.name)} is computed on the host: run without { output }`,
    );
  }
  return layoutsOf(now, scalars).map(({ shape, varies, runs }, i) => {
    const buffer = device.take(at(program.outputs, i), runs);
    return varies ? Object.assign(buffer, { shape }) : buffer;
  });
}

/**
 * The time of each launch, the mean of so many, and of each call of the host.
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes
 * @param {number} repeat
 * @returns {Promise<KernelTime[]>}
 */
export async function profile(now, inputs, sizes, repeat) {
  return now.program.steps ? profileSteps(now, inputs, sizes, repeat) : profileSegments(now, repeat);
}

/**
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes
 * @param {number} repeat
 */
async function profileSteps(now, inputs, sizes, repeat) {
  const { device, program, pending, flush } = now;
  /** @type {KernelTime[]} */
  const times = program.launches.map((launch) => timeOf(now, launch));
  const measure = async () => {
    const order = [...pending];
    const { ms, clock } = await device.time(order, repeat);
    order.forEach(({ number }, k) => {
      const time = at(times, number);
      Object.assign(time, { ms: time.ms + at(ms, k) / repeat, clock, count: time.count + 1 });
    });
    pending.length = 0;
  };
  const calls = program.calls.map(({ name, nodes, ops }) => ({
    name,
    nodes,
    ops,
    ms: 0,
    clock: /** @type {const} */ ('wall'),
    count: 0,
  }));
  const onCall = (/** @type {number} */ call, /** @type {number} */ ms) => {
    const time = at(calls, call);
    Object.assign(time, { ms: time.ms + ms, count: time.count + 1 });
  };
  await carryOutSteps(now, { scalars: [...sizes], inputs, pending, onCall }, async (reads) => {
    await measure();
    return flush(reads);
  });
  await measure();
  return [...times.slice(program.prepared), ...calls];
}

/** @type {(now: Built, launch: import('./device_program.js').Launch) => KernelTime} */
const timeOf = ({ program }, { kernel, name, nodes, ops }) => {
  const { flops, bytes } = at(program.kernels, kernel);
  return { name, nodes, ops, ms: 0, clock: 'wall', count: 0, flops, bytes };
};

/**
 * @param {Built} now
 * @param {number} repeat
 */
async function profileSegments(now, repeat) {
  const { device, host, program, give, downloads } = now;
  /** @type {KernelTime[]} */
  const times = [];
  for (let i = 0; i <= downloads.length; i++) {
    /** @type {import('./device_program.js').Started[]} */
    const order = [];
    const began = performance.now();
    if (i) await cross(now, i - 1, at(downloads, i - 1));
    host.play(`run_${i}`, { launch: (number) => order.push({ number, scalars: [] }), give });
    if (i) {
      const { name, nodes, ops } = at(program.calls, i - 1);
      times.push({ name, nodes, ops, ms: performance.now() - began, clock: 'wall', count: 1 });
    }
    const { ms, clock } = await device.time(order, repeat);
    order.forEach(({ number }, k) => {
      times.push({ ...timeOf(now, at(program.launches, number)), ms: at(ms, k) / repeat, clock, count: 1 });
    });
  }
  return times;
}
