// Launches on textures of their own.
import { at, storageOf } from '../device/device_program.js';
import { prepareLaunch } from './webgl_compile.js';
import { formatOf } from './webgl_context.js';
import { drawer } from './webgl_draw.js';
import { addTextures, checkLost, disposeState, framebufferOf, settle, sizeOf } from './webgl_state.js';
import { upload } from './webgl_transfer.js';

/** @typedef {import('./webgl_state.js').State} State */

/** @type {(state: State, ...trial: Parameters<import('../device/device_program.js').TryLaunch>) => Promise<ArrayBuffer | undefined>} */
export async function tryLaunch(state, launch, scalars, contents) {
  const { gl, program } = state;
  // The launch has a storage for each of its arguments, and no others.
  const storages = launch.arguments.map((value) => storageOf(program, value));
  const values = launch.arguments.map((value, storage) => ({ ...at(program.values, value), storage }));
  /** @type {State} */
  const own = { ...state, program: { ...program, storages, values }, framebuffers: new Map(), undo: new Set() };
  try {
    addTextures(own);
    for (const [i, storage] of storages.entries())
      upload(gl, at(own.textures, i), storage.dtype, sizeOf(storage), at(contents, i));
    drawer(own)(prepareLaunch(own, { ...launch, arguments: [...storages.keys()] }), scalars);
    checkLost(state);
    if (gl.getError()) return undefined;
    await settle(state); // reading waits for no launch then
    const result = storages.length - 1;
    const read = at(contents, result);
    const [width, height, layers] = sizeOf(at(storages, result));
    const [, format, type] = formatOf(gl, at(storages, result).dtype);
    for (let layer = 0; layer < layers; layer++) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, framebufferOf(own, result, layer, 1));
      gl.readPixels(0, 0, width, height, format, type, read, (read.length / layers) * layer);
    }
    return read.buffer;
  } finally {
    disposeState(own);
  }
}
