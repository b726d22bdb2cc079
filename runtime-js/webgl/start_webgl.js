// Device programs on WebGL 2: a kernel is a fragment shader, a launch one triangle over the texels that it writes.

import { checkLimits } from '../device/check_limits.js';
import { at, storageOf, valueAt } from '../device/device_program.js';
import { requireHardware } from '../device/require_hardware.js';
import { startDevice } from '../device/start_device.js';
import { words } from '../values/convert.js';
import { compileKernels } from './webgl_compile.js';
import { acquireContext } from './webgl_context.js';
import { createSegment, drawer } from './webgl_draw.js';
import { createPainter } from './webgl_picture.js';
import * as states from './webgl_state.js';
// <states>
import { webglStates } from './webgl_states.js';
// </states>
// <check>
import { readStorage } from './webgl_storage.js';
// </check>
import { timeLaunches } from './webgl_time.js';
import { upload, wholeRows, wordsOf } from './webgl_transfer.js';
import { prepareTrial } from './webgl_trial.js';
// <trials>
import { tryLaunch } from './webgl_trials.js';
// </trials>

/** @typedef {import('./webgl_state.js').State} State */

/** @param {import('../device/device_program.js').DevicePlan} plan @param {(notice: import('../start_session.js').Notice) => void} notify */
export async function startWebgl(plan, notify) {
  if (!plan.hardware) return startDevice(open, plan, notify);
  const { gl, adapter, release } = acquireContext();
  try {
    await requireHardware(adapter, () => prepareTrial(gl));
    return await startDevice(open, plan, notify);
  } finally {
    release();
  }
}

/** @type {import('../device/device_program.js').Open} */
async function open(arriving) {
  const { gl, layers, adapter, release } = acquireContext();
  const program = await arriving.catch((error) => {
    release();
    throw error;
  });
  /** @type {State} */
  const state = {
    ...{ gl, program, undo: new Set([release]), textures: [], framebuffers: new Map(), rows: new Map() },
    ...{ programs: [], prepared: [], proven: new Set() },
  };
  // <states>
  state.staging = webglStates.createStaging(state);
  // </states>
  // <generate>
  state.sent = { bytes: 0 };
  // </generate>
  try {
    const limitOf = (/** @type {string} */ name) => gl.getParameter(/** @type {any} */ (gl)[name]);
    const limits = checkLimits(states.needsOf(program), limitOf, (have) => `WebGL has ${have} here`);
    states.createTextures(state);
    return deviceOf(state, layers, { adapter, limits: { ...limits, MAX_DRAW_BUFFERS: layers }, features: [] });
  } catch (error) {
    states.disposeState(state);
    throw error;
  }
}

/**
 * @param {State} state
 * @param {number} layers that one draw can write
 * @param {{ adapter: string, limits: Record<string, number>, features: string[] }} facts
 * @returns {import('../device/device_program.js').Device}
 */
function deviceOf(state, layers, facts) {
  const { gl, undo } = state;
  const painter = createPainter(gl);
  undo.add(painter.dispose);
  const noBuffers = () => {
    throw new TypeError('a GPUBuffer needs the backend webgpu');
  };
  return {
    ...facts,
    compile: (...more) => compileKernels(state, layers, ...more),
    write: (value, data) => write(state, value, data),
    draw: (value, source, picture) => painter.draw(source, states.framebufferOf(state, value, 0, 1), picture),
    copy: noBuffers,
    copyOut: noBuffers,
    segment: (reads) => createSegment(state, reads),
    // <trials>
    tryLaunch: (...trial) => tryLaunch(state, ...trial),
    // </trials>
    // <check>
    readStorage: (storage) => readStorage(state, storage),
    // </check>
    async time(launches, repeat) {
      const draw = drawer(state);
      const timed = launches.map(({ number, scalars }) => ({ prepared: at(state.prepared, number), scalars }));
      const times = await timeLaunches(gl, timed, ({ prepared, scalars }) => {
        for (let i = 0; i < repeat; i++) draw(prepared, scalars);
      });
      states.checkLost(state);
      return times;
    },
    release: (storage) => states.releaseStorage(state, storage),
    // <states>
    held: state,
    segmentOnce: (reads) => createSegment(state, reads, webglStates.stageOnce(gl)),
    clearStates: () => webglStates.clear(state),
    copyStates: (from) => webglStates.copy(state, /** @type {State} */ (from)),
    session: async () => deviceOf(webglStates.create(state), layers, facts),
    // </states>
    // <generate>
    sentScalars: () => state.sent?.bytes ?? 0,
    // </generate>
    dispose: () => states.disposeState(state),
  };
}

/**
 * @param {State} state
 * @param {number} value
 * @param {import('../values/convert.js').Words} data
 */
function write(state, value, data) {
  const { gl, program, rows } = state;
  const storage = storageOf(program, value);
  const size = states.sizeOf(storage);
  let kept = rows.get(value);
  if (!kept && program.inputs.includes(value)) {
    kept = words(storage.dtype, wordsOf(valueAt(program, value).length));
    rows.set(value, kept);
  }
  const whole = wholeRows(storage.dtype, size, data, kept);
  upload(gl, states.textureOf(state, value), storage.dtype, size, whole);
}
