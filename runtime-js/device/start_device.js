// A device program on a GPU, whatever its API. A loss of the device costs that all is set up again, and that the run that
// it interrupted is done once more.
import { watchDownloads } from '../fetch/watch_downloads.js';
import { copiesOf } from '../values/dtypes.js';
import { emptyInputs } from '../values/sizes.js';
import { withDevice } from './build_device.js';
import { carryOut, profile } from './carry_out.js';
// <canaries>
import { checkLater, openChecks } from './check_kernels.js';
// </canaries>
import { fetchProgram } from './device_program.js';
// <states>
import { keepStates, withSession } from './device_states.js';
// </states>
import { isPortable, packInputs, roomFor, uploadInputs } from './feed_device.js';
import * as optional from './optional_device.js';
// <generate>
import { feed, onLaunched, runsAhead } from './run_ahead.js';
// </generate>
import { isSoftware } from './software_adapter.js';

/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./build_device.js').State} State */
/** @typedef {import('./device_program.js').Program} Program */

/**
 * @param {import('./device_program.js').Open} open
 * @param {import('./device_program.js').DevicePlan} plan
 * @param {(notice: import('../start_session.js').Notice) => void} notify
 * @returns {Promise<import('../start_session.js').Session>}
 */
export async function startDevice(open, plan, notify) {
  const files = watchDownloads(plan);
  const arriving = fetchProgram(plan, files);
  const starting = plan.host && optional.host.start(plan.host, files);
  for (const promise of [arriving, starting]) promise?.catch(() => {}); // withDevice waits for them
  /** @type {State} */
  const state = { open, plan, arriving, starting, notify, signal: plan.signal, ready: false, disposed: false };
  // <canaries>
  if (plan.canaries) state.checks = openChecks(plan);
  // </canaries>
  // <check>
  if (plan.checking) state.open = plan.checking(open);
  // </check>
  // What is left of a backend that cannot run is given up: the next one needs the bandwidth.
  const program = await withDevice(state, true, () => arriving).finally(files.end);
  Object.assign(state, { ready: true, notify: () => {}, signal: undefined });
  const enqueue = queueTasks(state, program);
  if (plan.warmup) {
    const [inputs, scalars] = emptyInputs(plan);
    await enqueue(inputs, scalars, (now) =>
      carryOut({ ...now, plan: { ...now.plan, refusals: [] } }, inputs, scalars, true),
    );
    // <states>
    if (plan.states) await enqueue([], [], (now) => keepStates(state, now, [], [], 'write', 0));
    // </states>
  }
  const { device } = /** @type {Built} */ (state.built);
  const facts = factsOf(device, program);
  // <generate>
  if (runsAhead({ device, plan, program })) Object.assign(facts, { ahead: true });
  // </generate>
  // <canaries>
  if (state.checks)
    Object.assign(
      facts,
      checkLater(state.checks, (check) => enqueue([], [], check), notify),
    );
  // </canaries>
  return {
    facts,
    device: () => state.built?.device.own,
    run(inputs, scalars, options) {
      const download = options?.output !== 'gpu-buffer';
      // <generate>
      /** @type {(now: Built, kept: Input[], release?: () => void) => ReturnType<typeof carryOut>} */
      const task = (now, kept, release) =>
        carryOut(runsAhead(now) ? { ...now, onLaunched: onLaunched(now, release) } : now, kept, scalars, download);
      if (plan.fed) return enqueue(inputs, scalars, task, options?.fed);
      // </generate>
      return enqueue(inputs, scalars, (now, kept) => carryOut(now, kept, scalars, download));
    },
    profile: (inputs, scalars, repeat) => enqueue(inputs, scalars, (now, kept) => profile(now, kept, scalars, repeat)),
    // <states>
    keep: (arrays, scalars, ...task) => enqueue([], [], (now) => keepStates(state, now, arrays, scalars, ...task)),
    // </states>
    dispose() {
      state.disposed = true;
      state.built?.device.dispose();
    },
  };
}

/**
 * Tasks one after the other; what must wait keeps its inputs as they are now.
 * @param {State} state
 * @param {Program} program
 */
function queueTasks(state, program) {
  const packed = roomFor(program);
  let waiting = 0;
  let tail = Promise.resolve();
  /**
   * @template T
   * @param {Input[]} inputs
   * @param {readonly number[]} scalars
   * @param {(now: Built, inputs: Input[], release?: () => void) => Promise<T>} task `release` lets the next one begin
   * @param {boolean} [fed]
   * @returns {Promise<T>}
   */
  return (inputs, scalars, task, fed) => {
    const idle = waiting === 0;
    const kept = idle ? inputs : copiesOf(inputs);
    const pack = () => packInputs(packed, state.plan, program, kept, scalars);
    if (idle) pack();
    waiting++;
    // <states>
    let release = () => {};
    // </states>
    // <generate>
    /** @type {Promise<void>} */
    const released = new Promise((resolve) => {
      release = resolve;
    });
    // </generate>
    const result = tail.then(() => {
      if (!idle) pack();
      // <states>
      if (state.plan.states && scalars.length)
        return withSession(state, scalars, (now) => {
          let given = kept;
          // <generate>
          if (fed) given = feed(now, kept);
          // </generate>
          uploadInputs(packed, now, given);
          return task(now, kept, release);
        });
      // </states>
      return withDevice(state, kept.every(isPortable), (now) => {
        uploadInputs(packed, now, kept);
        return task(now, kept);
      });
    });
    const next = () => void waiting--;
    tail = result.then(next, next);
    // <canaries>
    state.checks?.onRun?.(result);
    // </canaries>
    // <generate>
    tail = Promise.race([tail, released]);
    // </generate>
    return result;
  };
}

/**
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 */
const factsOf = ({ adapter, limits, features }, { storages, crossings }) => ({
  adapter,
  software: isSoftware(adapter),
  limits,
  features,
  precision: storages.some(({ dtype }) => dtype === 'float16') ? 'f16' : 'f32',
  memoryBytes: storages.reduce((sum, { bytes, prepareOnly }) => sum + (prepareOnly ? 0 : bytes), 0),
  crossings,
});
