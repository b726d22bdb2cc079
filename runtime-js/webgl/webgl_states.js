// Textures of states for each session on WebGL, with draws for the launches that use them.
import { at, storageOf } from '../device/device_program.js';
import { UnsupportedError } from '../errors.js';
import { prepareLaunch } from './webgl_compile.js';
import { createFramebuffer, createTexture } from './webgl_context.js';
import { checkLost, disposeState, sizeOf } from './webgl_state.js';

/** @typedef {import('./webgl_state.js').State} State */

/**
 * All that `state` has, but for states; its end is the end of both.
 * @param {State} state
 * @returns {State}
 */
function create(state) {
  const { gl, program, undo } = state;
  /** @type {State} */
  const own = Object.create(state);
  own.undo = new Set([() => undo.delete(end)]);
  own.framebuffers = new Map();
  own.rows = new Map();
  const end = () => disposeState(own);
  undo.add(end);
  own.textures = program.storages.map((storage, i) => {
    if (!storage.state) return at(state.textures, i);
    const texture = createTexture(gl, storage.dtype, sizeOf(storage));
    own.undo.add(() => gl.deleteTexture(texture));
    return texture;
  });
  const error = gl.getError();
  checkLost(state);
  if (error) {
    end();
    throw new UnsupportedError('memory', `WebGL did not allocate memory for the states of one more session (${error})`);
  }
  own.prepared = program.launches.map((launch, number) =>
    launch.arguments.some((value) => storageOf(program, value).state)
      ? prepareLaunch(own, launch)
      : at(state.prepared, number),
  );
  return own;
}

/** @type {(state: State, use: (layer: number, texture: WebGLTexture, storage: number) => void) => void} */
function eachLayer({ program, textures }, use) {
  program.storages.forEach((storage, i) => {
    const [, , layers] = sizeOf(storage);
    if (storage.state) for (let layer = 0; layer < layers; layer++) use(layer, at(textures, i), i);
  });
}

/** @param {State} state */
function clear(state) {
  const { gl, program } = state;
  eachLayer(state, (layer, texture, i) => {
    const framebuffer = createFramebuffer(gl, texture, layer, 1);
    const { dtype } = at(program.storages, i);
    if (dtype === 'float32') gl.clearBufferfv(gl.COLOR, 0, [0, 0, 0, 0]);
    else if (dtype === 'int32') gl.clearBufferiv(gl.COLOR, 0, [0, 0, 0, 0]);
    else gl.clearBufferuiv(gl.COLOR, 0, [0, 0, 0, 0]);
    gl.deleteFramebuffer(framebuffer);
  });
  checkLost(state);
}

/** @type {(to: State, from: State) => void} */
function copy(to, from) {
  const { gl, program } = to;
  eachLayer(to, (layer, texture, i) => {
    const [width, height] = sizeOf(at(program.storages, i));
    const framebuffer = createFramebuffer(gl, at(from.textures, i), layer, 1);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.copyTexSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, 0, 0, width, height);
    gl.deleteFramebuffer(framebuffer);
  });
  checkLost(to);
}

export const webglStates = { clear, copy, create };
