// A device with all that a program needs on it, set up again where the device is lost.

import { DeviceLostError, RunError, UnsupportedError } from '../errors.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { widen } from '../values/convert.js';
import { at, fetchWeights, uploadConstants, valueAt, wordsFor } from './device_program.js';
import { orderedHost } from './start_host.js';

/** @typedef {import('./device_program.js').Device} Device */
/** @typedef {import('./device_program.js').DevicePlan} DevicePlan */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {import('./device_program.js').Segment} Segment */
/** @typedef {import('./start_host.js').Host} Host */
/**
 * @typedef {object} Built
 * @property {DevicePlan} plan
 * @property {Program} program
 * @property {Device} device
 * @property {Host} host
 * @property {(call: number) => void} give hands the device the results of a call of the host
 * @property {Segment[]} segments what comes before each call of the host, and after the last; of a fixed program
 * @property {Segment[]} downloads what each call of the host reads, without launches; of a fixed program
 * @property {import('./device_program.js').Started[]} pending launches of the steps of a run, carried out by `flush`
 * @property {(reads: number[], lengths?: number[]) => Promise<import('../values/convert.js').Words[]>} flush
 */
/**
 * @typedef {object} State of a session on a device.
 * @property {import('./device_program.js').Open} open
 * @property {DevicePlan} plan
 * @property {Promise<Program>} arriving
 * @property {Promise<Host>} [starting] where the host is a module
 * @property {(progress: import('../model.js').Progress) => void} notify
 * @property {AbortSignal | undefined} signal of the load, not of what is fetched again after a loss
 * @property {Built} [built]
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
    try {
      state.built ??= await buildDevice(state);
      if (!state.disposed) return await task(state.built);
      throw new DeviceLostError('lost', 'disposed');
    } catch (error) {
      const { built, disposed } = state;
      // A device that cannot be had again is as lost as one that breaks down again.
      const unavailable = state.ready && !built && error instanceof UnsupportedError;
      if (!disposed && !unavailable && !(error instanceof DeviceLostError)) throw error;
      built?.device.dispose();
      state.built = undefined;
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
async function buildDevice({ open, plan, arriving, starting, notify, signal }) {
  const device = await open(arriving, plan);
  const program = await arriving;
  const files = watchDownloads({ ...plan, signal });
  try {
    let loaded = 0;
    const total = program.kernels.length;
    const [weights, host = orderedHost(program)] = await Promise.all([
      fetchWeights(plan, notify, files),
      starting,
      device.compile(() => notify({ phase: 'compile', loaded: ++loaded, total })),
    ]);
    uploadConstants(device, program, weights);
    host.fill(weights);
    const give = giver(device, host, program);
    /** @type {(entry: string, reads: number[]) => Segment} */
    const segment = (entry, reads) => device.segment((launch) => host.play(entry, { launch, give }), reads);
    if (host.has('load')) await segment('load', [])();
    program.storages.forEach(({ prepareOnly }, i) => {
      if (prepareOnly) device.release(i);
    });
    const onDevice = program.outputs.filter((value) => value >= 0);
    const reads = program.steps ? [] : program.calls.map((call) => call.reads.map(({ value }) => value));
    const segments = program.steps ? [] : [...reads, onDevice].map((values, i) => segment(`run_${i}`, values));
    const downloads = reads.map((values) => device.segment(() => {}, values));
    const steps = (program.steps && plan.optional?.stepping.prepare(device, program)) ?? noSteps;
    return { plan, program, device, host, give, segments, downloads, ...steps };
  } catch (error) {
    device.dispose();
    throw error;
  } finally {
    files.end();
  }
}

const noSteps = { pending: [], flush: async () => [] };

/**
 * @param {Device} device
 * @param {Host} host
 * @param {Program} program
 * @returns {(call: number) => void}
 */
function giver(device, host, program) {
  const targets = program.calls.map(({ writes }) => writes.map(({ value }) => wordsFor(program, value)));
  return (call) => {
    const { writes, name } = at(program.calls, call);
    writes.forEach(({ value, offset }, k) => {
      const { dtype, length } = valueAt(program, value);
      const target = at(at(targets, call), k);
      widen(dtype, host.take(offset, dtype, length), target, name);
      device.write(value, target);
    });
  };
}
