// Device programs on WebGL 2: a kernel is a fragment shader, a launch one triangle over the texels that it writes.
import { describe, valueAt } from '../device/device_program.js';
import { requireHardware } from '../device/require_hardware.js';
import { startDevice } from '../device/start_device.js';
import { DeviceLostError, RunError, UnsupportedError } from '../errors.js';
import { splitOutputs } from './split_outputs.js';
import { acquireContext, createFramebuffer, createTexture, linkLog, linkProgram } from './webgl_context.js';
import { createPainter } from './webgl_picture.js';
import { timeLaunches } from './webgl_time.js';
import { createReader, upload, wholeRows } from './webgl_transfer.js';
import { prepareTrial } from './webgl_trial.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../device/device_program.js').Launch} Launch */
/**
 * @typedef {object} Prepared
 * @property {WebGLProgram} program
 * @property {WebGLFramebuffer} framebuffer
 * @property {number} count of layers that it writes
 * @property {string} dtype of what it writes
 * @property {WebGLTexture[]} textures by unit
 * @property {[number, number, number]} grid
 * @property {Launch} launch
 */

/** @param {import('../device/device_program.js').DevicePlan} plan @param {(progress: import('../model.js').Progress) => void} onProgress */
export async function startWebgl(plan, onProgress) {
  if (!plan.hardware) return startDevice(open, plan, onProgress);
  const { gl, adapter, release } = acquireContext();
  try {
    await requireHardware(adapter, () => prepareTrial(gl));
    return await startDevice(open, plan, onProgress);
  } finally {
    release();
  }
}

// A worker may wait for the GPU; the page must not.
const mayBlock = typeof document === 'undefined';

/** @type {(storage: import('../device/device_program.js').Storage) => [number, number, number]} */
const sizeOf = ({ texture }) => texture ?? [1, 1, 1];

/**
 * @param {WebGL2RenderingContext} gl
 * @param {import('../device/device_program.js').Program} program
 */
function checkLimits(gl, { kernels, storages }) {
  const sizes = storages.map(sizeOf);
  const needs = [
    ['MAX_TEXTURE_SIZE', Math.max(1, ...sizes.flatMap((size) => size.slice(0, 2)))],
    ['MAX_ARRAY_TEXTURE_LAYERS', Math.max(1, ...sizes.map(([, , depth]) => depth))],
    ['MAX_TEXTURE_IMAGE_UNITS', Math.max(1, ...kernels.map(({ access }) => access.length - 1))],
  ].map(([name, need]) => ({
    name,
    need,
    have: gl.getParameter(/** @type {any} */ (gl)[/** @type {string} */ (name)]),
  }));
  for (const { name, need, have } of needs) {
    if (Number(need) > have)
      throw new UnsupportedError('limits', `the model needs ${name} ${need}, WebGL has ${have} here`);
  }
  return Object.fromEntries(needs.map(({ name, have }) => [name, have]));
}

/** @type {import('../device/device_program.js').Open} */
async function open(arriving) {
  const { gl, layers, adapter, release } = acquireContext();
  const program = await arriving.catch((error) => {
    release();
    throw error;
  });
  /** @type {Set<() => void>} */
  const undo = new Set([release]);
  /** @param {() => void} action */
  const later = (action) => undo.add(action);
  const dispose = () => {
    for (const action of [...undo].reverse()) action();
    undo.clear();
  };
  const checkLost = () => {
    if (gl.isContextLost()) throw new DeviceLostError('lost', 'the WebGL context was lost');
    if (!undo.size) throw new DeviceLostError('lost', 'the model was disposed of');
  };
  /** Lets others have a turn, who may end the model: other models share the context, and would meet its errors. */
  const turn = async (ms = 0) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    checkLost();
  };
  /** @type {Record<string, number>} */
  let limits;
  /** @type {WebGLTexture[]} */
  let textures;
  try {
    limits = { ...checkLimits(gl, program), MAX_DRAW_BUFFERS: layers };
    textures = program.storages.map((storage) => {
      const texture = createTexture(gl, storage.dtype, sizeOf(storage));
      later(() => gl.deleteTexture(texture));
      return texture;
    });
    const error = gl.getError();
    checkLost();
    if (error) throw new UnsupportedError('memory', `WebGL does not give the memory that the model needs (${error})`);
  } catch (error) {
    dispose();
    throw error;
  }
  const storageAt = (/** @type {number} */ i) =>
    /** @type {import('../device/device_program.js').Storage} */ (program.storages[i]);
  const textureOf = (/** @type {number} */ value) =>
    /** @type {WebGLTexture} */ (textures[valueAt(program, value).storage]);

  /** @type {Map<string, WebGLFramebuffer>} by storage, first layer and their number */
  const framebuffers = new Map();
  const framebufferOf = (/** @type {number} */ value, /** @type {number} */ first, /** @type {number} */ count) => {
    const key = [valueAt(program, value).storage, first, count].join();
    let framebuffer = framebuffers.get(key);
    if (!framebuffer) {
      const made = createFramebuffer(gl, textureOf(value), first, count);
      later(() => gl.deleteFramebuffer(made));
      framebuffers.set(key, made);
      framebuffer = made;
    }
    return framebuffer;
  };

  /** @type {Prepared[][]} by number of the launch: one for every few layers that a draw writes */
  let prepared = [];
  const at = (/** @type {number} */ number) => /** @type {Prepared[]} */ (prepared[number]);

  /** @type {{ program: WebGLProgram, first: number, count: number }[][]} by kernel, for layers that one draw writes */
  const programs = [];
  /** @param {() => void} onKernel */
  const compile = async (onKernel) => {
    const parallel = gl.getExtension('KHR_parallel_shader_compile');
    for (const { source, grid } of program.kernels) {
      const parts = splitOutputs(source, grid[2], layers);
      programs.push(parts.map(({ source, ...part }) => ({ program: linkProgram(gl, source), ...part })));
      for (const { program } of programs.at(-1) ?? []) later(() => gl.deleteProgram(program));
    }
    for (const [i, parts] of programs.entries()) {
      for (const { program: made } of parts) {
        while (parallel && !gl.getProgramParameter(made, parallel.COMPLETION_STATUS_KHR)) await turn();
        const linked = gl.getProgramParameter(made, gl.LINK_STATUS);
        checkLost();
        if (!linked)
          throw new UnsupportedError('compile', `WebGL refuses ${describe(program, i)}: ${linkLog(gl, made)}`);
        bindSamplers(gl, made, /** @type {{ source: string }} */ (program.kernels[i]).source);
      }
      onKernel();
      if (!mayBlock) await turn();
    }
    prepared = program.launches.map(prepare);
    warmUp();
    await settle();
  };

  /**
   * Drivers translate a shader when it is first drawn with, for just the formats of what it reads and writes: so one
   * texel of each is drawn, and thrown away.
   */
  const warmUp = () => {
    /** @type {Map<string, [WebGLTexture, WebGLFramebuffer]>} */
    const targets = new Map();
    const firsts = new Map(program.launches.map(({ kernel }, number) => [kernel, number]));
    for (const number of firsts.values()) {
      for (const one of at(number)) {
        const key = `${one.dtype},${one.count}`;
        let target = targets.get(key);
        if (!target) {
          const texture = createTexture(gl, one.dtype, [1, 1, one.count]);
          target = [texture, createFramebuffer(gl, texture, 0, one.count)];
          targets.set(key, target);
        }
        drawer(gl)([{ ...one, framebuffer: target[1], grid: [1, 1, 1] }]);
      }
    }
    for (const [texture, framebuffer] of targets.values()) {
      gl.deleteFramebuffer(framebuffer);
      gl.deleteTexture(texture);
    }
  };

  /** Until the GPU has done all that it was told. */
  const settle = async () => {
    checkLost(); // a lost context may have no fence
    const sync = /** @type {WebGLSync} */ (gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0));
    gl.flush();
    try {
      for (let ms = 0; ; ms = Math.min(ms + 1, 4)) {
        const state = gl.clientWaitSync(sync, 0, 0);
        checkLost();
        if (state === gl.ALREADY_SIGNALED || state === gl.CONDITION_SATISFIED) break;
        await turn(ms);
      }
    } finally {
      gl.deleteSync(sync);
    }
  };

  /**
   * @param {Launch} launch
   * @returns {Prepared[]}
   */
  const prepare = (launch) => {
    const { access, grid } = /** @type {import('../device/device_program.js').Kernel} */ (
      program.kernels[launch.kernel]
    );
    const [target = 0] = launch.arguments.filter((_, i) => access[i] === 'w');
    const textures = launch.arguments.filter((_, i) => access[i] === 'r').map(textureOf);
    const { dtype } = storageAt(valueAt(program, target).storage);
    return (programs[launch.kernel] ?? []).map(({ program, first, count }) => {
      return { program, framebuffer: framebufferOf(target, first, count), count, dtype, textures, grid, launch };
    });
  };

  /**
   * Names the launch that makes WebGL report an error: each by itself.
   * @param {number[]} launches
   */
  const blame = (launches) => {
    for (const one of launches.flatMap(at)) {
      drawer(gl)([one]);
      const error = gl.getError();
      if (error) return `${describe(program, one.launch.kernel, one.launch)}: error ${error}`;
    }
    return undefined;
  };

  /** @param {number} value */
  const prepareRead = (value) => {
    const { length, storage } = valueAt(program, value);
    const reader = createReader(
      gl,
      storageAt(storage).dtype,
      length,
      (layer) => framebufferOf(value, layer, 1),
      !mayBlock,
    );
    later(reader.dispose);
    return reader;
  };

  /** @type {import('../device/device_program.js').Device['segment']} */
  const segment = (play, reads) => {
    const readers = reads.map(prepareRead);
    let proven = false;
    return async () => {
      checkLost();
      const draw = drawer(gl);
      /** @type {number[]} */
      const seen = [];
      play((number) => {
        if (!proven) seen.push(number);
        draw(at(number));
      });
      for (const reader of readers) reader.begin();
      if (!mayBlock && readers.length) await settle();
      const results = readers.map((reader) => reader.end());
      // After a loss everything seems to succeed.
      checkLost();
      if (!proven) {
        const error = gl.getError();
        if (error) throw new RunError('device', `WebGL: ${blame(seen) ?? `error ${error}`}`);
        proven = true;
      }
      return results;
    };
  };

  /** @type {Map<number, Words>} whole rows, for inputs that end within one */
  const rows = new Map();
  /** @type {import('../device/device_program.js').Device['write']} */
  const write = (value, data) => {
    const place = storageAt(valueAt(program, value).storage);
    const whole = wholeRows(place.dtype, sizeOf(place), data, rows.get(value));
    if (whole !== data && program.inputs.includes(value)) rows.set(value, whole);
    upload(gl, textureOf(value), place.dtype, sizeOf(place), whole);
  };

  const painter = createPainter(gl);
  later(painter.dispose);
  return {
    adapter,
    limits,
    features: [],
    compile,
    write,
    segment,
    dispose,
    draw: (value, source, picture) => painter.draw(source, framebufferOf(value, 0, 1), picture),
    copy() {
      throw new TypeError('a GPUBuffer needs the backend webgpu');
    },
    take() {
      throw new TypeError('a GPUBuffer needs the backend webgpu');
    },
    async time(launches) {
      const times = await timeLaunches(gl, launches.map(at), drawer(gl));
      checkLost();
      return times;
    },
    release(storage) {
      // A framebuffer would keep the texture that it draws into.
      for (const [key, framebuffer] of framebuffers) {
        if (!key.startsWith(`${storage},`)) continue;
        gl.deleteFramebuffer(framebuffer);
        framebuffers.delete(key);
      }
      gl.deleteTexture(textures[storage] ?? null);
    },
  };
}

/**
 * Each sampler of a shader reads the unit that stands for its place among them.
 * @param {WebGL2RenderingContext} gl
 * @param {WebGLProgram} program
 * @param {string} source
 */
function bindSamplers(gl, program, source) {
  const names = [...source.matchAll(/\buniform\s+(?:\w+\s+)?[iu]?sampler2DArray\s+(\w+)/g)].map((match) => match[1]);
  gl.useProgram(program);
  names.forEach((name, unit) => {
    gl.uniform1i(gl.getUniformLocation(program, /** @type {string} */ (name)), unit);
  });
}

/**
 * What draws, and remembers what it bound as long as nobody else draws.
 * @param {WebGL2RenderingContext} gl
 */
function drawer(gl) {
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
