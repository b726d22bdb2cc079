// A run on a device that has its inputs: segments of launches, calls of the host in between, outputs; or the time of each.
import { UnsupportedError } from '../errors.js';
import { narrow } from '../values/convert.js';
import { lengthOf, typedArray } from '../values/dtypes.js';
import { extentsOf } from '../values/sizes.js';
import { runsOf } from '../values/strided.js';
import { at, valueAt } from './device_program.js';

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
  checkHeld(now, download);
  const { segments, program, plan } = now;
  if (program.steps && plan.optional) return plan.optional.stepping.carryOut(now, inputs, sizes, download);
  const last = segments.length - 1;
  for (let i = 0; i < last; i++) await cross(now, i, at(segments, i));
  const arrays = await at(segments, last)(download);
  return download ? outputsOf(now, arrays) : buffersOf(now);
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
 * From where they were computed.
 * @param {Built} now
 * @param {Words[]} arrays what the device has, in order
 * @returns {Output[]}
 */
function outputsOf({ host, plan, program }, arrays) {
  const left = arrays.values();
  return plan.outputs.map(({ dtype, shape }, i) => {
    if (at(program.outputs, i) >= 0) return narrow(dtype, /** @type {Words} */ (left.next().value));
    const length = lengthOf(extentsOf(shape));
    const { buffer } = new Uint8Array(host.take(at(program.host?.outputs ?? [], i), dtype, length));
    return typedArray(dtype, buffer);
  });
}

/** @param {Built} now */
function buffersOf({ device, plan, program }) {
  return plan.outputs.map(({ shape }, i) => {
    const extents = extentsOf(shape);
    return device.take(at(program.outputs, i), runsOf(extents, extents));
  });
}

/**
 * @param {Built} now
 * @param {boolean} download
 * @throws {UnsupportedError} for outputs that are to stay on the device, and are not there
 */
function checkHeld({ plan, program }, download) {
  const missing = download ? -1 : program.outputs.findIndex((value) => value < 0);
  if (missing < 0) return;
  const name = JSON.stringify(plan.outputs[missing]?.name);
  throw new UnsupportedError('output', `output ${name} is computed on the host: run without { output }`);
}

/**
 * The time of each launch, the mean of so many, and of each call of the host.
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions
 * @param {number} repeat
 * @returns {Promise<KernelTime[]>}
 */
export async function profile(now, inputs, sizes, repeat) {
  const { device, host, plan, program, give, downloads } = now;
  if (program.steps && plan.optional) return plan.optional.stepping.profile(now, inputs, sizes, repeat);
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
      const { kernel, name, nodes, ops } = at(program.launches, number);
      const { flops, bytes } = at(program.kernels, kernel);
      times.push({ name, nodes, ops, ms: at(ms, k) / repeat, clock, count: 1, flops, bytes });
    });
  }
  return times;
}
