// Launches on textures of their own.
import { at, storageOf } from '../device/device_program.js';
import { createFramebuffer, createTexture, formatOf } from './webgl_context.js';
import { drawer } from './webgl_draw.js';
import { settle, sizeOf } from './webgl_state.js';
import { upload } from './webgl_transfer.js';

/** @typedef {import('./webgl_state.js').State} State */

/** @type {(state: State, ...trial: Parameters<import('../device/device_program.js').TryLaunch>) => Promise<ArrayBuffer | undefined>} */
export async function tryLaunch(state, launch, scalars, contents) {
  const { gl, program } = state;
  const { PIXEL_PACK_BUFFER } = gl;
  const storages = launch.arguments.map((value) => storageOf(program, value));
  const textures = storages.map((storage, i) => {
    const texture = createTexture(gl, storage.dtype, sizeOf(storage));
    upload(gl, texture, storage.dtype, sizeOf(storage), at(contents, i));
    return texture;
  });
  const result = at(textures, textures.length - 1);
  const storage = at(storages, textures.length - 1);
  /** @type {WebGLFramebuffer[]} */
  const framebuffers = [];
  const layersOf = (/** @type {number} */ first, /** @type {number} */ count) => {
    const framebuffer = createFramebuffer(gl, result, first, count);
    framebuffers.push(framebuffer);
    return framebuffer;
  };
  const [width, height, layers] = sizeOf(storage);
  const [, format, type] = formatOf(gl, storage.dtype);
  const bytes = new Uint8Array(storage.bytes);
  const pixels = gl.createBuffer();
  try {
    const parts = at(state.programs, launch.kernel).map(({ first, count, ...part }) => ({
      ...{ ...part, framebuffer: layersOf(first, count), count, dtype: storage.dtype, launch },
      textures: textures.slice(0, -1),
    }));
    drawer(state)(parts, scalars);
    gl.bindBuffer(PIXEL_PACK_BUFFER, pixels);
    gl.bufferData(PIXEL_PACK_BUFFER, bytes.length, gl.DYNAMIC_COPY);
    for (let layer = 0; layer < layers; layer++) {
      layersOf(layer, 1);
      gl.readPixels(0, 0, width, height, format, type, (bytes.length / layers) * layer);
    }
    gl.bindBuffer(PIXEL_PACK_BUFFER, null);
    if (gl.getError()) return undefined;
    await settle(state);
    gl.bindBuffer(PIXEL_PACK_BUFFER, pixels);
    gl.getBufferSubData(PIXEL_PACK_BUFFER, 0, bytes);
    gl.bindBuffer(PIXEL_PACK_BUFFER, null);
    return bytes.buffer;
  } finally {
    gl.deleteBuffer(pixels);
    for (const framebuffer of framebuffers) gl.deleteFramebuffer(framebuffer);
    for (const texture of textures) gl.deleteTexture(texture);
  }
}
