// Draws launches, reads values back, and names the launch that fails.
import { at, describe, storageOf, valueAt } from '../device/device_program.js';
import { RunError } from '../errors.js';
import { checkLost, framebufferOf, mayBlock, settle } from './webgl_state.js';
import { createReader } from './webgl_transfer.js';

/** @typedef {import('./webgl_state.js').State} State */
/** @typedef {import('./webgl_state.js').Prepared} Prepared */

/**
 * A function that draws; it remembers its bindings, so all draws must be its own as long as it is in use.
 * @param {WebGL2RenderingContext} gl
 */
export function drawer(gl) {
  /** @type {(WebGLTexture | undefined)[]} */
  const units = [];
  /** @type {WebGLProgram | undefined} */
  let program;
  return (/** @type {Prepared[]} */ prepared) => {
    for (const one of prepared) {
      if (one.program !== program) gl.useProgram(one.program);
      program = one.program;
      gl.bindFramebuffer(gl.FRAMEBUFFER, one.framebuffer);
      gl.viewport(0, 0, one.grid[0], one.grid[1]);
      one.textures.forEach((texture, unit) => {
        if (units[unit] === texture) return;
        units[unit] = texture;
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
      });
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  };
}

/**
 * @param {State} state
 * @param {import('../device/device_program.js').Play} play
 * @param {number[]} reads values
 * @returns {import('../device/device_program.js').Segment}
 */
export function createSegment(state, play, reads) {
  const { gl, prepared } = state;
  const readers = reads.map((value) => readerOf(state, value));
  let proven = false;
  return async () => {
    checkLost(state);
    const draw = drawer(gl);
    /** @type {number[]} */
    const seen = [];
    play((number) => {
      if (!proven) seen.push(number);
      draw(at(prepared, number));
    });
    for (const reader of readers) reader.begin();
    if (!mayBlock && readers.length) await settle(state);
    const results = readers.map((reader) => reader.end());
    // After a loss everything seems to succeed.
    checkLost(state);
    if (!proven) {
      const error = gl.getError();
      if (error) throw new RunError('device', `WebGL: ${blame(state, seen) ?? `error ${error}`}`);
      proven = true;
    }
    return results;
  };
}

/** @param {State} state @param {number} value */
function readerOf(state, value) {
  const { gl, program, undo } = state;
  const { dtype } = storageOf(program, value);
  const { length } = valueAt(program, value);
  const reader = createReader(gl, dtype, length, (layer) => framebufferOf(state, value, layer, 1), !mayBlock);
  undo.add(reader.dispose);
  return reader;
}

/**
 * Names the launch that makes WebGL report an error: each by itself.
 * @param {State} state
 * @param {number[]} launches
 */
function blame({ gl, program, prepared }, launches) {
  for (const one of launches.flatMap((number) => at(prepared, number))) {
    drawer(gl)([one]);
    const error = gl.getError();
    if (error) return `${describe(program, one.launch.kernel, one.launch)}: error ${error}`;
  }
  return undefined;
}
