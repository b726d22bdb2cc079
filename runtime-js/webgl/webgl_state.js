// What a program has in the WebGL context: textures, framebuffers, shaders; and waiting for the GPU that they are on.
import { at, valueAt } from '../device/device_program.js';
import { DeviceLostError, UnsupportedError } from '../errors.js';
import { createFramebuffer, createTexture } from './webgl_context.js';

/** @typedef {import('../device/device_program.js').Program} Program */
/** @typedef {import('../values/convert.js').Words} Words */
/**
 * @typedef {object} Prepared A launch, or as much of it as one draw can write.
 * @property {WebGLProgram} program
 * @property {WebGLFramebuffer} framebuffer
 * @property {number} count of layers that it writes
 * @property {string} dtype of what it writes
 * @property {WebGLTexture[]} textures by unit
 * @property {[number, number, number]} [grid] where it is always the same
 * @property {(WebGLUniformLocation | null)[]} scalars
 * @property {import('../device/device_program.js').Launch} launch
 */
/**
 * @typedef {object} State
 * @property {WebGL2RenderingContext} gl
 * @property {Program} program
 * @property {Set<() => void>} undo what frees all this, last first; empty when it is freed
 * @property {WebGLTexture[]} textures by storage
 * @property {Map<string, WebGLFramebuffer>} framebuffers by storage, first layer and their number
 * @property {Map<number, Words>} rows whole rows, for inputs that end within one
 * @property {{ program: WebGLProgram, scalars: (WebGLUniformLocation | null)[], first: number, count: number }[][]} programs by
 *   kernel, for layers that one draw writes
 * @property {Prepared[][]} prepared by number of the launch: one for every few layers that a draw writes
 * @property {Set<number>} proven launches that were carried out without an error
 * @property {{ bytes: number }} [sent] scalars of decoders, ever
 * @property {import('./webgl_transfer.js').Staging} [staging] of all sessions, where there are any
 */

// A worker may wait for the GPU; the page must not.
export const mayBlock = typeof document === 'undefined';

/** @type {(storage: import('../device/device_program.js').Storage) => [number, number, number]} */
export const sizeOf = ({ texture }) => texture ?? [1, 1, 1];

/**
 * @param {Program} program
 * @returns {Record<string, number>} the largest sizes, by name of the limit
 */
export function needsOf({ kernels, storages }) {
  const sizes = storages.map(sizeOf);
  return {
    MAX_TEXTURE_SIZE: Math.max(1, ...sizes.flatMap((size) => size.slice(0, 2))),
    MAX_ARRAY_TEXTURE_LAYERS: Math.max(1, ...sizes.map(([, , depth]) => depth)),
    MAX_TEXTURE_IMAGE_UNITS: Math.max(1, ...kernels.map(({ access }) => access.length - 1)),
  };
}

/** @param {State} state */
export function createTextures(state) {
  const { gl } = state;
  addTextures(state);
  const error = gl.getError();
  checkLost(state);
  if (error) throw new UnsupportedError('memory', `WebGL did not allocate the memory that the model needs (${error})`);
}

/**
 * Textures for the program's storages. Whether there was memory for them the next error of the context says.
 * @param {State} state
 */
export function addTextures(state) {
  const { gl, program, undo } = state;
  state.textures = program.storages.map((storage) => {
    const texture = createTexture(gl, storage.dtype, sizeOf(storage));
    undo.add(() => gl.deleteTexture(texture));
    return texture;
  });
}

/** @param {State} state @param {number} value */
export const textureOf = ({ program, textures }, value) => at(textures, valueAt(program, value).storage);

/**
 * Layers of a value's texture, to draw into or to read from.
 * @param {State} state
 * @param {number} value
 * @param {number} first
 * @param {number} count
 */
export function framebufferOf(state, value, first, count) {
  const { gl, program, framebuffers, undo } = state;
  const key = [valueAt(program, value).storage, first, count].join();
  let framebuffer = framebuffers.get(key);
  if (!framebuffer) {
    const created = createFramebuffer(gl, textureOf(state, value), first, count);
    undo.add(() => gl.deleteFramebuffer(created));
    framebuffers.set(key, created);
    framebuffer = created;
  }
  return framebuffer;
}

/** @param {State} state @param {number} storage */
export function releaseStorage({ gl, textures, framebuffers }, storage) {
  // A framebuffer would keep the texture that it draws into.
  for (const [key, framebuffer] of framebuffers) {
    if (!key.startsWith(`${storage},`)) continue;
    gl.deleteFramebuffer(framebuffer);
    framebuffers.delete(key);
  }
  gl.deleteTexture(textures[storage] ?? null);
}

/** @param {State} state */
export function disposeState({ undo }) {
  for (const action of [...undo].reverse()) action();
  undo.clear();
}

/** @param {State} state */
export function checkLost({ gl, undo }) {
  if (gl.isContextLost()) throw new DeviceLostError('lost', 'the WebGL context was lost');
  if (!undo.size) throw new DeviceLostError('lost', 'the model was disposed of');
}

/**
 * Yields to other tasks, which may dispose of the model: other models share the context, where `getError` would return
 * its errors.
 * @param {State} state
 */
export async function turn(state, ms = 0) {
  await new Promise((resolve) => setTimeout(resolve, ms));
  checkLost(state);
}

/**
 * Until the GPU has done all that was submitted.
 * @param {State} state
 */
export async function settle(state) {
  const { gl } = state;
  checkLost(state); // a lost context may have no fence
  const sync = /** @type {WebGLSync} */ (gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0));
  gl.flush();
  try {
    for (let ms = 0; ; ms = Math.min(ms + 1, 4)) {
      const status = gl.clientWaitSync(sync, 0, 0);
      checkLost(state);
      if (status === gl.ALREADY_SIGNALED || status === gl.CONDITION_SATISFIED) break;
      await turn(state, ms);
    }
  } finally {
    gl.deleteSync(sync);
  }
}
