// Draws launches, reads values back, and names the launch that fails.
import { at, describe, gridOf, storageOf, valueAt } from '../device/device_program.js';
import { RunError } from '../errors.js';
// <states>
import { evaluate } from '../values/sizes.js';
// </states>
import { checkLost, framebufferOf, mayBlock, settle } from './webgl_state.js';
import { createReader } from './webgl_transfer.js';

/** @typedef {import('./webgl_state.js').State} State */
/** @typedef {import('./webgl_state.js').Prepared} Prepared */

/**
 * A function that draws; it keeps its bindings, so all draws must be its own as long as it is in use.
 * @param {Pick<State, 'gl' | 'program'>} state
 */
export function drawer({ gl, program: { kernels } }) {
  /** @type {(WebGLTexture | undefined)[]} */
  const units = [];
  /** @type {WebGLProgram | undefined} */
  let program;
  /** @param {Prepared[]} prepared @param {readonly number[]} scalars */
  return (prepared, scalars) => {
    for (const one of prepared) {
      const [width, height] = one.grid ?? gridOf(at(kernels, one.launch.kernel), scalars);
      if (!width || !height) continue;
      if (one.program !== program) gl.useProgram(one.program);
      program = one.program;
      gl.bindFramebuffer(gl.FRAMEBUFFER, one.framebuffer);
      one.scalars.forEach((location, i) => {
        gl.uniform1i(location, Number(scalars[i]));
      });
      one.textures.forEach((texture, unit) => {
        if (units[unit] === texture) return;
        units[unit] = texture;
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
      });
      // <states>
      const { strips } = at(kernels, one.launch.kernel);
      if (strips && !one.grid) {
        for (const area of rectanglesOf(strips, scalars)) {
          gl.viewport(...area);
          gl.drawArrays(gl.TRIANGLES, 0, 3);
        }
        continue;
      }
      // </states>
      gl.viewport(0, 0, width, height);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  };
}

// <states>
/**
 * Left, top, width and height of what covers each strip of a texture.
 * @param {NonNullable<import('../device/device_program.js').Kernel['strips']>} strips
 * @param {readonly number[]} scalars
 * @returns {[number, number, number, number][]}
 */
const rectanglesOf = ([first, length, period, count, across], scalars) =>
  Array.from({ length: count }, (_, i) => {
    const start = evaluate(first, scalars) + i * period;
    const end = start + evaluate(length, scalars);
    const [top, bottom] = [Math.floor(start / across), Math.ceil(end / across)];
    return bottom === top + 1 ? [start % across, top, end - start, 1] : [0, top, across, bottom - top];
  });
// </states>

/**
 * @param {State} state
 * @param {number[]} reads values
 * @param {import('./webgl_transfer.js').Staging} [pool]
 * @returns {import('../device/device_program.js').Segment}
 */
export function createSegment(state, reads, pool = state.staging) {
  const { gl, prepared, proven } = state;
  const readers = reads.map((value) => readerOf(state, value, pool));
  // <states>
  if (!mayBlock) pool?.prepare(readers.map(({ bytes }) => bytes).filter(Boolean));
  // </states>
  return async (launches, lengths) => {
    checkLost(state);
    const fresh = launches.filter(({ number }) => !proven.has(number));
    const draw = drawer(state);
    for (const { number, scalars } of launches) draw(at(prepared, number), scalars);
    // <generate>
    const sent = state.sent ?? { bytes: 0 };
    for (const { number } of launches) for (const one of at(prepared, number)) sent.bytes += 4 * one.scalars.length;
    // </generate>
    readers.forEach((reader, i) => {
      reader.begin(lengths?.[i]);
    });
    if (!mayBlock && readers.length) await settle(state);
    const results = readers.map((reader, i) => reader.end(lengths?.[i]));
    // After a loss everything seems to succeed.
    checkLost(state);
    if (fresh.length) {
      const error = gl.getError();
      if (error) throw new RunError('device', `WebGL: ${findFailingLaunch(state, fresh) ?? `error ${error}`}`);
      for (const { number } of fresh) proven.add(number);
    }
    return results;
  };
}

/**
 * @param {State} state
 * @param {number} value
 * @param {import('./webgl_transfer.js').Staging | undefined} pool
 */
function readerOf(state, value, pool) {
  const { gl, program, undo } = state;
  const { dtype } = storageOf(program, value);
  const { length } = valueAt(program, value);
  const reader = createReader(gl, dtype, length, (layer) => framebufferOf(state, value, layer, 1), !mayBlock, pool);
  if (!pool) undo.add(reader.dispose);
  return reader;
}

/**
 * Names the launch that makes WebGL report an error: each by itself.
 * @param {State} state
 * @param {readonly import('../device/device_program.js').Started[]} launches
 */
function findFailingLaunch({ gl, program, prepared }, launches) {
  for (const { number, scalars } of launches) {
    for (const one of at(prepared, number)) {
      drawer({ gl, program })([one], scalars);
      const error = gl.getError();
      if (error) return `${describe(program, one.launch.kernel, one.launch)}: error ${error}`;
    }
  }
  return undefined;
}
