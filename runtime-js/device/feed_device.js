// Inputs, from what a caller passes to where kernels read them: on the device, in the host's arena, or both.
import { UnsupportedError } from '../errors.js';
import { pictureOf } from '../values/check_inputs.js';
import { widen } from '../values/convert.js';
import { copyOf, elementOf, lengthOf, tagOf } from '../values/dtypes.js';
import { extentsOf, shapeOf } from '../values/sizes.js';
import { reachOf, runsOf } from '../values/strided.js';
import { at, wordsFor } from './device_program.js';

/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../values/sizes.js').Spec} Spec */
/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Runs} Runs */
/** @typedef {import('./device_program.js').DevicePlan} DevicePlan */
/** @typedef {import('./device_program.js').Program} Program */
/**
 * @typedef {object} Packed Inputs by number, kept until they are uploaded: again, where the device is lost.
 * @property {(Words | undefined)[]} words for those that the device holds
 * @property {(Words | undefined)[]} dense room to widen those in that are not contiguous there
 * @property {Runs[]} runs of their elements in this run
 * @property {Uint8Array[]} forHost bytes for those that the host reads
 * @property {readonly number[]} scalars of the run's sizes
 */

/**
 * @param {Program} program
 * @returns {Packed}
 */
export const roomFor = (program) => ({
  words: program.inputs.map((value) => (value < 0 ? undefined : wordsFor(program, value))),
  ...{ dense: [], runs: [], forHost: [], scalars: [] },
});

/**
 * @param {Packed} packed
 * @param {DevicePlan} plan
 * @param {Program} program
 * @param {Input[]} inputs
 * @param {readonly number[]} scalars
 */
export function packInputs(packed, plan, program, inputs, scalars) {
  const { words, forHost, runs, dense } = packed;
  packed.scalars = scalars;
  inputs.forEach((input, i) => {
    const { dtype, name, shape } = /** @type {Spec} */ (plan.inputs[i]);
    const label = `input ${JSON.stringify(name)}`;
    const there = at(program.host?.inputs ?? [], i) >= 0;
    runs[i] = runsOf(extentsOf(shape), shapeOf(shape, scalars));
    if (ArrayBuffer.isView(input)) {
      const whole = words[i];
      if (whole && at(runs, i).length <= 1) widen(dtype, input, whole, label);
      else if (whole) {
        dense[i] ??= wordsFor(program, at(program.inputs, i));
        const own = /** @type {Words} */ (dense[i]);
        widen(dtype, input, own, label);
        for (const { dense: from, spaced, length } of at(runs, i)) whole.set(own.subarray(from, from + length), spaced);
      }
      if (there) forHost[i] = spread(dtype, input, extentsOf(shape), at(runs, i));
    } else if (there)
      throw new UnsupportedError('input', `${label} is read by what runs on the host: give a typed array`);
  });
}

/**
 * A copy of an array's bytes, as the host's memory has them.
 * @param {string} dtype
 * @param {ArrayBufferView} input
 * @param {readonly number[]} extents
 * @param {Runs} runs
 */
function spread(dtype, input, extents, runs) {
  const copy = copyOf(input);
  if (runs.length <= 1) return copy;
  const { bytes } = elementOf(dtype);
  const whole = new Uint8Array(lengthOf(extents) * bytes);
  for (const { dense, spaced, length } of runs)
    whole.set(copy.subarray(dense * bytes, (dense + length) * bytes), spaced * bytes);
  return whole;
}

/**
 * @param {Packed} packed
 * @param {import('./build_device.js').Built} now
 * @param {Input[]} inputs
 */
export function uploadInputs({ words, forHost, runs, scalars }, { plan, program, device, host }, inputs) {
  inputs.forEach((input, i) => {
    const value = at(program.inputs, i);
    if (forHost[i]) host?.write(at(program.host?.inputs ?? [], i), forHost[i]);
    if (ArrayBuffer.isView(input)) {
      const whole = words[i];
      if (!whole) return;
      const reach = reachOf(at(runs, i));
      device.write(value, reach < whole.length ? /** @type {Words} */ (whole.subarray(0, reach)) : whole);
    } else if ('mapState' in input) device.copy(value, input, at(runs, i));
    else {
      const spec = /** @type {Spec} */ (plan.inputs[i]);
      const picture = pictureOf(spec, shapeOf(spec.shape, scalars));
      device.draw(value, input, /** @type {import('../values/check_inputs.js').Picture} */ (picture));
    }
  });
}

/**
 * Whether an input can be copied to another device.
 * @param {Input} input
 */
export const isPortable = (input) => ArrayBuffer.isView(input) || tagOf(input) === 'ImageBitmap';
