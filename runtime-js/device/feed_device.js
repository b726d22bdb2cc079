// Inputs, from what a caller gives to where kernels read them: on the device, in the host's arena, or both.
import { UnsupportedError } from '../errors.js';
import { pictureOf } from '../values/check_inputs.js';
import { widen } from '../values/convert.js';
import { copyOf } from '../values/dtypes.js';
import { extentsOf } from '../values/sizes.js';
import { at, wordsFor } from './device_program.js';

/** @typedef {import('../start_first.js').Input} Input */
/** @typedef {import('../model.js').TensorInfo} TensorInfo */
/** @typedef {import('./device_program.js').DevicePlan} DevicePlan */
/** @typedef {import('./device_program.js').Program} Program */
/**
 * @typedef {object} Packed Inputs by number, kept until they are uploaded: again, where the device is lost.
 * @property {(import('../values/convert.js').Words | undefined)[]} words for those that the device holds
 * @property {Uint8Array[]} forHost bytes for those that the host reads
 */

/**
 * @param {Program} program
 * @returns {Packed}
 */
export const roomFor = (program) => ({
  words: program.inputs.map((value) => (value < 0 ? undefined : wordsFor(program, value))),
  forHost: [],
});

/**
 * @param {Packed} packed
 * @param {DevicePlan} plan
 * @param {Program} program
 * @param {Input[]} inputs
 */
export function packInputs({ words, forHost }, plan, { host }, inputs) {
  inputs.forEach((input, i) => {
    const { dtype, name } = /** @type {TensorInfo} */ (plan.inputs[i]);
    const label = `input ${JSON.stringify(name)}`;
    const there = at(host?.inputs ?? [], i) >= 0;
    if (ArrayBuffer.isView(input)) {
      if (words[i]) widen(dtype, input, words[i], label);
      if (there) forHost[i] = copyOf(input);
    } else if (there)
      throw new UnsupportedError('input', `${label} is read by what runs on the host: give a typed array`);
  });
}

/**
 * @param {Packed} packed
 * @param {import('./build_device.js').Built} now
 * @param {Input[]} inputs
 */
export function uploadInputs({ words, forHost }, { plan, program, device, host }, inputs) {
  inputs.forEach((input, i) => {
    const value = at(program.inputs, i);
    if (forHost[i]) host.put(at(program.host?.inputs ?? [], i), forHost[i]);
    if (ArrayBuffer.isView(input)) {
      if (words[i]) device.write(value, words[i]);
    } else if ('mapState' in input) device.copy(value, input);
    else {
      const { dtype, shape } = /** @type {import('../values/sizes.js').Spec} */ (plan.inputs[i]);
      const picture = pictureOf(dtype, extentsOf(shape));
      device.draw(value, input, /** @type {import('../values/check_inputs.js').Picture} */ (picture));
    }
  });
}

/**
 * Whether an input can be given to another device.
 * @param {Input} input
 */
export const isPortable = (input) => ArrayBuffer.isView(input) || input instanceof ImageBitmap;
