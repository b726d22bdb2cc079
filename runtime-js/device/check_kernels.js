// Kernels that a driver computes wrongly are found at load, and once more after some runs. One that has another source is compiled
// from that; else the backend is given up.
import { UnsupportedError } from '../errors.js';
import { at, describe } from './device_program.js';
import { recall, remember } from './known_faults.js';
import { isSoftware } from './software_adapter.js';
import { tryKernels } from './try_kernels.js';

/** @typedef {import('../model.js').KernelFault} KernelFault */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {Pick<Built, 'plan' | 'device' | 'program'>} On */
/**
 * @typedef {object} Checks of a session's kernels.
 * @property {number} began when the load did, by the clock of performance
 * @property {Promise<import('./known_faults.js').Known | undefined>} known
 * @property {import('../model.js').CanaryInfo} [report]
 * @property {UnsupportedError} [wrong] the end of all runs
 * @property {(run: Promise<unknown>) => void} [onRun] takes each
 * @property {(report: import('../model.js').CanaryInfo) => void} [onReport] takes each that follows the load
 */

/** The most that canaries take of the time that a load has taken, on software adapters. */
const SHARE = 0.02;

/** Runs until kernels are tried once more: the GPU is warm by then. */
const RUNS = 100;

/**
 * @param {import('./device_program.js').DevicePlan} plan
 * @returns {Checks}
 */
export const openChecks = ({ program }) => ({ began: performance.now(), known: recall(program.sha256) });

/**
 * Kernels that are known to fail on this adapter are compiled from their other source.
 * @param {Checks} checks
 * @param {On} on
 * @throws {UnsupportedError} where another backend can take the place of this one
 */
export async function avoidFaults(checks, on) {
  const faults = await knownFaults(checks, on);
  for (const one of on.program.kernels) if (faults.some(({ kernel }) => kernel === one.name)) delete one.subgroups;
  const wrong = on.plan.others && refusal(on, faults);
  if (wrong) throw wrong;
}

/**
 * Tries the kernels of a device that has compiled them.
 * @param {Checks} checks
 * @param {On} on
 * @param {boolean} [late] launches are in use: all that fails is given up
 * @throws {UnsupportedError} `wrong-results`
 */
export async function checkKernels(checks, on, late = false) {
  const { device, program, plan } = on;
  const { canaries = [], launches, kernels } = program;
  const unlimited = plan.canaries === 'all' || !isSoftware(device.adapter);
  const ms = unlimited ? Infinity : SHARE * (performance.now() - checks.began);
  const { checked, failed } = await tryKernels(device, program, canaries, ms);
  const known = (await knownFaults(checks, on)).filter(({ action }) => action !== GIVEN_UP);
  // One for each kernel: what took its source's place may fail, too. Kernels of other nodes may have the same name.
  const keyOf = (/** @type {KernelFault} */ { kernel, nodes }) => `${kernel} ${nodes}`;
  const byKernel = new Map(known.map((fault) => [keyOf(fault), fault]));
  for (const canary of failed) {
    const { kernel } = at(launches, canary.launch);
    const { name } = at(kernels, kernel);
    const again = !late && (await device.recompile?.(kernel));
    const mended = again && !(await tryKernels(device, program, [canary], Infinity)).failed.length;
    const action = mended ? 'without-subgroups' : GIVEN_UP;
    const nodes = new Set(launches.filter((one) => one.kernel === kernel).flatMap((one) => one.nodes));
    /** @type {KernelFault} */
    const fault = { kernel: name, nodes: [...nodes], backend: plan.backend, action };
    byKernel.set(keyOf(fault), fault);
  }
  const faults = [...byKernel.values()];
  checks.report = { checked, skipped: canaries.length - checked, failed: faults };
  checks.onReport?.(checks.report);
  if (failed.length || checked === canaries.length) await note(checks, on, faults);
  checks.wrong = refusal(on, faults);
  if (failed.length) console.warn(checks.wrong?.message ?? say(on, faults));
  if (checks.wrong) throw checks.wrong;
}

/**
 * After so many runs, once none follows at once, kernels are tried again; where one fails all further runs reject.
 * @param {Checks} checks
 * @param {(task: (now: Built) => Promise<void>) => Promise<void>} enqueue
 */
export function checkLater(checks, enqueue) {
  let left = RUNS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const check = () => {
    left = Infinity;
    enqueue((now) => checkKernels(checks, now, true)).catch(() => {}); // the next run says it
  };
  checks.onRun = (run) => {
    clearTimeout(waiting);
    const over = () => {
      if (--left <= 0) waiting = setTimeout(check);
    };
    run.then(over, over);
  };
}

const GIVEN_UP = 'other-backend';

/** Adapter and browser that faults are of: another adapter or browser may have others. */
const placeOf = (/** @type {On} */ { device }) => `${device.adapter}; ${globalThis.navigator?.userAgent}`;

/** @type {(checks: Checks, on: On) => Promise<KernelFault[]>} */
async function knownFaults({ known }, on) {
  const found = await known;
  return found?.where === placeOf(on) ? found.faults : [];
}

/**
 * For later visits, and for the device after this one.
 * @param {Checks} checks
 * @param {On} on
 * @param {KernelFault[]} faults all that there are
 */
async function note(checks, on, faults) {
  const before = await checks.known;
  const now = faults.length ? { where: placeOf(on), faults } : undefined;
  if (before || now) await remember(on.plan.program.sha256, now);
  checks.known = Promise.resolve(now);
}

/**
 * @param {On} on
 * @param {KernelFault[]} all
 */
function refusal(on, all) {
  const faults = all.filter(({ action }) => action === GIVEN_UP);
  const advice = 'load({ backend }) takes another; update the driver';
  const error = new UnsupportedError('wrong-results', `${say(on, faults)}; ${advice}`);
  return faults.length ? Object.assign(error, { faults }) : undefined;
}

/** @type {(on: On, faults: readonly KernelFault[]) => string} */
function say({ plan, device, program }, faults) {
  const [first, ...others] = faults.map(({ kernel: name, nodes }) => describe(program, 0, { name, nodes }));
  const more = others.length ? ` and ${others.length} more` : '';
  return `${plan.backend} gives wrong results on this adapter (${device.adapter}), by ${first}${more}`;
}
