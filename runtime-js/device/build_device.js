// A device with all that a program needs on it, set up again where the device is lost.

import { DeviceLostError, RunError, UnsupportedError } from '../errors.js';
import { collectRanges, fetchWeights } from '../fetch/fetch_weights.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
// <canaries>
import { avoidFaults, checkKernels } from './check_kernels.js';
// </canaries>
import { at, uploadConstant } from './device_program.js';
import * as optional from './optional_device.js';
import { prepareSegments } from './play_steps.js';
import { prepareInOrder } from './prepare_in_order.js';
// <check>
import { leaveToHost } from './run_on_host.js';

// </check>

/** @typedef {import('./device_program.js').Device} Device */
/** @typedef {import('./device_program.js').DevicePlan} DevicePlan */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {import('./start_host.js').HostModule} HostModule */
/**
 * @typedef {object} Built
 * @property {DevicePlan} plan
 * @property {Program} program
 * @property {Device} device
 * @property {import('./start_host.js').Host} [host] where it computes anything
 * @property {import('./play_steps.js').Flush} flush
 * @property {() => void} [onLaunched] of a run, if its program launches all at once
 * @property {(device: Device) => import('./start_host.js').Host | undefined} [attach] the host to the device of a session
 */
/**
 * @typedef {object} State of a session on a device.
 * @property {import('./device_program.js').Open} open
 * @property {DevicePlan} plan
 * @property {Promise<Program>} arriving
 * @property {Promise<HostModule>} [starting]
 * @property {(progress: import('../model.js').Progress) => void} notify
 * @property {AbortSignal | undefined} signal of the load, not of what is fetched again after a loss
 * @property {Built} [built]
 * @property {import('./device_states.js').Kept} [kept] of a model with states
 * @property {import('./check_kernels.js').Checks} [checks] of kernels, where they are to be checked
 * @property {boolean} ready the load is over
 * @property {boolean} disposed
 */

/**
 * Carries out a task on the device, and once more where the device is lost meanwhile.
 * @template T
 * @param {State} state
 * @param {boolean} again whether what was interrupted can be repeated
 * @param {(now: Built) => Promise<T>} task
 * @returns {Promise<T>}
 */
export async function withDevice(state, again, task) {
  for (let attempt = 0; ; attempt++) {
    /** @type {Built | undefined} a run that was launched ahead may end when another device has taken the place of its own */
    let built;
    try {
      // <canaries>
      if (state.checks?.wrong) throw state.checks.wrong;
      // </canaries>
      state.built ??= await buildDevice(state);
      built = state.built;
      if (!state.disposed) return await task(built);
      throw new DeviceLostError('lost', 'disposed');
    } catch (error) {
      const { disposed, checks } = state;
      // A device that cannot be had again is as lost as one that breaks down again.
      const unavailable = state.ready && !built && error instanceof UnsupportedError && error !== checks?.wrong;
      if (!disposed && !unavailable && !(error instanceof DeviceLostError)) throw error;
      if (built === state.built) {
        built?.device.dispose();
        state.built = undefined;
      }
      if (disposed) throw new RunError('disposed', 'the model was disposed of');
      if (unavailable) throw new DeviceLostError('lost', `the device was lost, and ${error.message}`);
      if (attempt || !again) throw error;
    }
  }
}

/**
 * @param {State} state
 * @returns {Promise<Built>}
 */
async function buildDevice({ open, plan, arriving, starting, notify, signal, checks }) {
  const device = await open(arriving, plan);
  const program = await arriving;
  const files = watchDownloads({ ...plan, signal });
  const freed = new AbortController();
  try {
    // <canaries>
    if (checks) await avoidFaults(checks, { plan, device, program });
    // </canaries>
    let loaded = 0;
    const total = program.kernels.length;
    // The device takes each constant as it arrives, and computes what is prepared of it; the host its own, by then it has
    // started.
    const { constants } = program;
    /** @type {Uint8Array<ArrayBuffer> | undefined} */
    let hosts;
    const prepare = prepareInOrder(program);
    const collect = collectRanges([...constants, ...(plan.host ? [plan.host.weights] : [])], (i, bytes) => {
      if (i === constants.length) {
        hosts = bytes;
        return;
      }
      uploadConstant(device, program, at(constants, i), bytes);
      prepare.onConstant(at(constants, i).value);
    });
    const room = (/** @type {{ bytes: number }} */ { bytes }) => new Uint8Array(bytes);
    const compile = async () => {
      await device.compile(() => notify({ phase: 'compile', loaded: ++loaded, total }));
      // <canaries>
      if (checks) await checkKernels(checks, { plan, device, program });
      // </canaries>
      // <check>
      leaveToHost(device, program);
      // </check>
      freed.signal.throwIfAborted(); // what is made now would stay
      const flush = prepareSegments(device, program);
      prepare.onCompiled((launches) => flush(launches, []));
      return flush;
    };
    const [module, , flush] = await Promise.all([
      starting,
      fetchWeights(plan.weights, room, collect, notify, files),
      compile(),
    ]);
    module?.load(hosts);
    const host = module && optional.host.attach(module, device, program);
    /** @type {Built} */
    const built = { plan, program, device, ...(host && { host }), flush };
    // <states>
    built.attach = (device) => module && optional.host.attach(module, device, program);
    // </states>
    await prepare.done();
    program.storages.forEach(({ prepareOnly }, i) => {
      if (prepareOnly) device.release(i);
    });
    return built;
  } catch (error) {
    freed.abort();
    device.dispose();
    throw error;
  } finally {
    files.end();
  }
}
