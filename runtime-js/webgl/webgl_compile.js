// Kernels become WebGL programs, and launches draws that are ready.
import { at, describe, gridOf, storageOf } from '../device/device_program.js';
import { UnsupportedError } from '../errors.js';
import { splitOutputs } from './split_outputs.js';
import { createFramebuffer, createTexture, linkLog, linkProgram } from './webgl_context.js';
import { drawer } from './webgl_draw.js';
import { checkLost, framebufferOf, mayBlock, settle, textureOf, turn } from './webgl_state.js';

/** @typedef {import('./webgl_state.js').State} State */
/** @typedef {import('./webgl_state.js').Prepared} Prepared */

/**
 * @param {State} state
 * @param {number} layers that one draw can write
 * @param {() => void} onKernel
 * @param {readonly number[]} [which] by default all
 */
export async function compileKernels(state, layers, onKernel, which = [...state.program.kernels.keys()]) {
  const { gl, program, undo } = state;
  const parallel = gl.getExtension('KHR_parallel_shader_compile');
  const kernels = /** @type {import('../device/device_program.js').FragmentKernel[]} */ (program.kernels);
  for (const i of which)
    state.programs[i] = splitOutputs(at(kernels, i), layers).map(({ source, ...part }) => {
      const linking = linkProgram(gl, source);
      undo.add(() => gl.deleteProgram(linking));
      return { program: linking, scalars: [], ...part };
    });
  for (const i of which) {
    for (const part of at(state.programs, i)) {
      const { program: linking } = part;
      while (parallel && !gl.getProgramParameter(linking, parallel.COMPLETION_STATUS_KHR)) await turn(state);
      const linked = gl.getProgramParameter(linking, gl.LINK_STATUS);
      checkLost(state);
      if (!linked)
        throw new UnsupportedError('compile', `WebGL refuses ${describe(program, i)}: ${linkLog(gl, linking)}`);
      const { declarations, scalars = 0 } = at(kernels, i);
      bindSamplers(gl, linking, declarations.samplers.length);
      for (let n = 0; n < scalars; n++) part.scalars.push(gl.getUniformLocation(linking, `s${n}`));
    }
    onKernel();
    if (!mayBlock) await turn(state);
  }
  state.prepared = program.launches.map((launch) => prepareLaunch(state, launch));
  warmUp(state);
  await settle(state);
}

/**
 * Each sampler of a shader reads the unit of its number.
 * @param {WebGL2RenderingContext} gl
 * @param {WebGLProgram} program
 * @param {number} count of samplers
 */
function bindSamplers(gl, program, count) {
  gl.useProgram(program);
  for (let unit = 0; unit < count; unit++) gl.uniform1i(gl.getUniformLocation(program, `p${unit}`), unit);
}

/**
 * @param {State} state
 * @param {import('../device/device_program.js').Launch} launch
 * @returns {Prepared[]}
 */
export function prepareLaunch(state, launch) {
  const kernel = at(state.program.kernels, launch.kernel);
  const { access } = kernel;
  const [target = 0] = launch.arguments.filter((_, i) => access[i] === 'w');
  const textures = launch.arguments.filter((_, i) => access[i] === 'r').map((value) => textureOf(state, value));
  const { dtype } = storageOf(state.program, target);
  const grid = kernel.scalars ? {} : { grid: gridOf(kernel) };
  return at(state.programs, launch.kernel).map(({ program, scalars, first, count }) => {
    const framebuffer = framebufferOf(state, target, first, count);
    return { program, framebuffer, count, dtype, textures, ...grid, scalars, launch };
  });
}

/**
 * Drivers translate a shader when it is first drawn with, for just the formats of what it reads and writes: so one
 * texel of each is drawn, and thrown away.
 * @param {State} state
 */
function warmUp({ gl, program, prepared }) {
  /** @type {Map<string, [WebGLTexture, WebGLFramebuffer]>} */
  const targets = new Map();
  const firsts = new Map(program.launches.map(({ kernel }, number) => [kernel, number]));
  for (const one of [...firsts.values()].flatMap((number) => at(prepared, number))) {
    const key = `${one.dtype},${one.count}`;
    let target = targets.get(key);
    if (!target) {
      const texture = createTexture(gl, one.dtype, [1, 1, one.count]);
      target = [texture, createFramebuffer(gl, texture, 0, one.count)];
      targets.set(key, target);
    }
    const scalars = one.scalars.map(() => 0);
    drawer({ gl, program })([{ ...one, framebuffer: target[1], grid: [1, 1, 1] }], scalars);
  }
  for (const [texture, framebuffer] of targets.values()) {
    gl.deleteFramebuffer(framebuffer);
    gl.deleteTexture(texture);
  }
}
