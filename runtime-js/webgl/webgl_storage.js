// All that a storage has: the texels of a texture.
import { at } from '../device/device_program.js';
import { words } from '../values/convert.js';
import { formatOf } from './webgl_context.js';
import { checkLost, framebufferOf, settle, sizeOf } from './webgl_state.js';

/** @typedef {import('./webgl_state.js').State} State */

/**
 * @param {State} state
 * @param {number} number
 */
export async function readStorage(state, number) {
  const { gl, program } = state;
  const storage = at(program.storages, number);
  const dtype = storage.dtype.replace(/\d+$/, '32'); // as which every browser reads texels
  const [width, height, layers] = sizeOf(storage);
  const [, format, type] = formatOf(gl, dtype);
  const value = program.values.findIndex((one) => one.storage === number);
  const read = words(dtype, 4 * width * height * layers);
  await settle(state); // reading waits for no launch then
  for (let layer = 0; layer < layers; layer++) {
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebufferOf(state, value, layer, 1));
    gl.readPixels(0, 0, width, height, format, type, read, (read.length / layers) * layer);
  }
  checkLost(state);
  return read;
}
