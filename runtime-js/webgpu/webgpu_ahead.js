// The token of a step for the next one on WebGPU, and copies of what that one could not take back.
import { bufferOf, createBuffer, STORAGE_USAGE, submit } from './webgpu_state.js';

/** @typedef {import('./webgpu_state.js').State} State */

/**
 * @param {State} state of a session
 * @returns {Pick<import('../device/device_program.js').Device, 'hold' | 'keepToken' | 'token' | 'undo'>}
 */
function on(state) {
  /** @type {GPUBuffer | undefined} */
  let own;
  const token = () => {
    own ??= createBuffer(state, 4, STORAGE_USAGE);
    return own;
  };
  /** @type {Map<number, GPUBuffer>} by value */
  const copies = new Map();
  const copyOf = (/** @type {number} */ value) => {
    const copy = copies.get(value) ?? createBuffer(state, bufferOf(state, value).size, STORAGE_USAGE);
    copies.set(value, copy);
    return copy;
  };
  return {
    token,
    keepToken: (value) =>
      submit(state, (encoder) => encoder.copyBufferToBuffer(bufferOf(state, value), 0, token(), 0, 4)),
    hold: (values) =>
      submit(state, (encoder) => {
        for (const value of values)
          encoder.copyBufferToBuffer(bufferOf(state, value), 0, copyOf(value), 0, copyOf(value).size);
      }),
    undo: (values) =>
      submit(state, (encoder) => {
        for (const value of values)
          encoder.copyBufferToBuffer(copyOf(value), 0, bufferOf(state, value), 0, copyOf(value).size);
      }),
  };
}

export const ahead = { on };
