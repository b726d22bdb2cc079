// Textures of states for each session on WebGL, with draws for the launches that use them.
import { createPool, keepNothing } from '../device/buffer_pool.js';
import { at, storageOf } from '../device/device_program.js';
import { UnsupportedError } from '../errors.js';
import { prepareLaunch } from './webgl_compile.js';
import { createTexture } from './webgl_context.js';
import { checkLost, disposeState, framebufferOf, sizeOf, textureOf } from './webgl_state.js';

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

/** @type {(state: State, use: (value: number, layer: number) => void) => void} */
function eachLayer({ program }, use) {
  program.states?.forEach((value) => {
    const [, , layers] = sizeOf(storageOf(program, value));
    for (let layer = 0; layer < layers; layer++) use(value, layer);
  });
}

/** @param {State} state @param {number} value @param {number} layer */
function bind(state, value, layer) {
  state.gl.bindFramebuffer(state.gl.FRAMEBUFFER, framebufferOf(state, value, layer, 1));
}

/** @param {State} state */
function clear(state) {
  const { gl, program } = state;
  eachLayer(state, (value, layer) => {
    bind(state, value, layer);
    const { dtype } = storageOf(program, value);
    if (dtype === 'float32') gl.clearBufferfv(gl.COLOR, 0, [0, 0, 0, 0]);
    else if (dtype === 'int32') gl.clearBufferiv(gl.COLOR, 0, [0, 0, 0, 0]);
    else gl.clearBufferuiv(gl.COLOR, 0, [0, 0, 0, 0]);
  });
  checkLost(state);
}

/** @type {(to: State, from: State) => void} */
function copy(to, from) {
  const { gl, program } = to;
  eachLayer(to, (value, layer) => {
    const [width, height] = sizeOf(storageOf(program, value));
    bind(from, value, layer);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, textureOf(to, value));
    gl.copyTexSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, 0, 0, width, height);
  });
  checkLost(to);
}

/** @param {WebGL2RenderingContext} gl @param {number} bytes */
function createPixels(gl, bytes) {
  const pixels = gl.createBuffer();
  gl.bindBuffer(gl.PIXEL_PACK_BUFFER, pixels);
  gl.bufferData(gl.PIXEL_PACK_BUFFER, bytes, gl.DYNAMIC_COPY);
  gl.bindBuffer(gl.PIXEL_PACK_BUFFER, null);
  return pixels;
}

/** @param {State} state */
const createStaging = ({ gl, undo }) =>
  createPool((bytes) => {
    const pixels = createPixels(gl, bytes);
    undo.add(() => gl.deleteBuffer(pixels));
    return pixels;
  });

/** @param {WebGL2RenderingContext} gl */
const stageOnce = (gl) =>
  keepNothing(
    (bytes) => createPixels(gl, bytes),
    (pixels) => gl.deleteBuffer(pixels),
  );

export const webglStates = { clear, copy, create, createStaging, stageOnce };
