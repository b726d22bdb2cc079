// Kernels that a driver computes wrongly are found at load, and once more after some runs. One that has other sources is compiled
// from these; else the backend is given up.
import { DeviceLostError, UnsupportedError } from '../errors.js';
import { at, describe, launchesOf, nodesOf } from './device_program.js';
import { isSoftware } from './software_adapter.js';
import { replace, takeKnown } from './take_other.js';
import { tryKernels } from './try_kernels.js';

/** @typedef {import('../model.js').KernelFault} KernelFault */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {{ where: string, faults: KernelFault[] }} Known `where`: adapter and browser */
/** @typedef {import('./take_other.js').On} On */
/**
 * @typedef {object} Checks of a session's kernels.
 * @property {number} began when the load did, by the clock of performance
 * @property {Promise<Known | undefined> | Known | undefined} known
 * @property {import('../model.js').CanaryInfo} [report]
 * @property {number[]} [skipped] kernels that were never tried, for which there was no time
 * @property {number} [most] milliseconds that they take
 * @property {UnsupportedError} [wrong] the end of all runs
 * @property {(run: Promise<unknown>) => void} [onRun] takes each
 * @property {(report: import('../model.js').CanaryInfo) => void} [onReport] takes each that follows the load
 */

/** The most that canaries take of the time that a load has taken, on software adapters. */
const SHARE = 0.02;

/** Milliseconds that they take on others. */
const MOST_MS = 50;

/** Runs until kernels are tried once more, when the GPU is warm, and until more of them are that had no time. */
const RUNS = 100;

/**
 * @param {import('./device_program.js').DevicePlan} plan
 * @returns {Checks}
 */
export const openChecks = ({ program }) => ({
  began: performance.now(),
  known: askKnown((store) => store.get(program.sha256)),
});

/**
 * Kernels that are known to fail on this adapter are compiled from the sources that are right there.
 * @param {Checks} checks
 * @param {On} on
 * @throws {UnsupportedError} where another backend can take the place of this one
 */
export async function avoidFaults(checks, on) {
  const faults = await knownFaults(checks, on);
  const wrong = on.plan.others && refusal(on, faults);
  if (wrong) throw wrong;
  await takeKnown(on, faults);
}

/**
 * Tries the kernels of a device that has compiled them.
 * @param {Checks} checks
 * @param {On} on
 * @param {number} [least] so many of those that had no time before are tried, whatever they take
 * @returns {Promise<number>} how many have other sources now: launches that are in use do not
 * @throws {UnsupportedError} `wrong-results`
 */
export async function checkKernels(checks, on, least = 0) {
  const { device, program, plan } = on;
  const all = program.kernels.flatMap(({ checksum }, kernel) => (checksum ? [kernel] : []));
  // There may be time for few: on each visit others come first.
  all.unshift(...all.splice(Math.random() * all.length));
  const software = isSoftware(device.adapter);
  checks.most ??= software ? SHARE * (performance.now() - checks.began) : MOST_MS;
  // Where some are known to be wrong, no other result than that of all can take the place of what is known.
  const known = await knownFaults(checks, on);
  const ms = plan.canaries === 'all' || known.length ? undefined : checks.most;
  // What had no time before comes first now.
  const { skipped: before = all } = checks;
  const order = new Set([...before, ...all]);
  let { skipped, failed } = await tryKernels(device, program, order, ms, software, least);
  // A device that gets one wrong may get others wrong.
  if (failed.length) ({ skipped, failed } = await tryKernels(device, program, all));
  skipped = skipped.filter((kernel) => before.includes(kernel));
  checks.skipped = skipped;
  // One for each kernel: what took its source's place may fail, too. Kernels of other nodes may have the same name.
  /** @type {Map<string, KernelFault>} */
  const byKernel = new Map();
  const add = (/** @type {KernelFault} */ fault) => byKernel.set(`${fault.kernel} ${fault.nodes}`, fault);
  for (const fault of known) if (fault.action !== GIVEN_UP) add(fault);
  /** @type {KernelFault['action'] | undefined} */
  let action;
  for (const kernel of failed) {
    if (action !== GIVEN_UP) action = (await replace(on, kernel)) ?? GIVEN_UP; // once for all
    const nodes = nodesOf(launchesOf(program, kernel));
    add({ kernel: at(program.kernels, kernel).name, nodes, backend: plan.backend, action });
  }
  const faults = [...byKernel.values()];
  checks.report = { checked: all.length - skipped.length, skipped: skipped.length, failed: faults };
  if (failed.length || !skipped.length) await note(checks, on, faults);
  const wrong = refusal(on, faults);
  checks.wrong = wrong;
  if (failed.length) console.warn(wrong?.message ?? say(on, faults));
  checks.onReport?.(checks.report);
  if (wrong) throw wrong;
  return failed.length;
}

/**
 * After so many runs, once none follows at once, or as many more have, kernels are tried again, and so on until each has been tried; where
 * one fails the device is set up anew, as after a loss, or all further runs reject.
 * @param {Checks} checks
 * @param {(task: (now: Built) => Promise<void>) => Promise<void>} enqueue
 * @param {(notice: { canaries: import('../model.js').CanaryInfo, reason?: string }) => void} notify takes each report that follows that of the load
 * @returns what is known of the session
 */
export function checkLater(checks, enqueue, notify) {
  let left = RUNS;
  let checked = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const check = () => {
    left = Infinity;
    enqueue(async (now) => {
      const { length } = checks.skipped ?? [];
      // One more each time: those for which there is no memory remain.
      if (await checkKernels(checks, now, ++checked)) throw new DeviceLostError('lost', 'failed');
      if (length > checked) left = RUNS;
    }).catch(() => {}); // the next run says it
  };
  checks.onRun = (run) => {
    if (left > -RUNS) clearTimeout(waiting);
    const over = () => {
      if (--left <= 0) waiting = setTimeout(check);
    };
    run.then(over, over);
  };
  checks.onReport = (canaries) =>
    notify({
      canaries,
      // <next>
      reason: checks.wrong?.message,
      // </next>
    });
  return { canaries: checks.report };
}

/** @type {KernelFault['action']} */
const GIVEN_UP = 'other-backend';

// What is wrong is kept in the browser's IndexedDB. Without it, as in some private windows, each visit finds it anew.
const NAME = 'webnn-compile';
const PATIENCE = 500; // ms: some browsers never answer

/**
 * The result of a request to what is known, by the hash of a program's file; something without faults where there is no database.
 * @param {(store: IDBObjectStore) => IDBRequest} use
 * @returns {Promise<any>}
 */
const askKnown = (use) =>
  new Promise((resolve) => {
    setTimeout(resolve, PATIENCE);
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME);
    opening.onerror = resolve;
    opening.onsuccess = () => {
      const request = use(opening.result.transaction(NAME, 'readwrite').objectStore(NAME));
      request.onsuccess = () => resolve(request.result);
      opening.result.close(); // when it is done
    };
  }).catch(() => {});

/** Adapter and browser that faults are of: another adapter or browser may have others. */
const placeOf = (/** @type {On} */ { device }) => `${device.adapter}; ${globalThis.navigator?.userAgent}`;

/** @type {(checks: Checks, on: On) => Promise<KernelFault[]>} */
const knownFaults = async ({ known }, on) => {
  const found = await known;
  return found?.where === placeOf(on) ? found.faults : [];
};

/**
 * For later visits, and for the device after this one.
 * @param {Checks} checks
 * @param {On} on
 * @param {KernelFault[]} faults all that there are
 */
const note = async (checks, on, faults) => {
  const { sha256 } = on.plan.program;
  const now = faults.length ? { where: placeOf(on), faults } : undefined;
  if ((await checks.known) || now) await askKnown((store) => (now ? store.put(now, sha256) : store.delete(sha256)));
  checks.known = now;
};

/**
 * @param {On} on
 * @param {KernelFault[]} all
 */
const refusal = (on, all) => {
  const faults = all.filter(({ action }) => action === GIVEN_UP);
  if (!faults.length) return undefined;
  const message = `${say(on, faults)}; load({ backend }) takes another; update the driver`;
  return Object.assign(new UnsupportedError('wrong-results', message), { faults });
};

/** @type {(on: On, faults: readonly KernelFault[]) => string} */
const say = ({ plan, device, program }, faults) => {
  const { kernel: name, nodes } = at(faults, 0);
  const more = faults.length > 1 ? ` and ${faults.length - 1} more` : '';
  return `${plan.backend} gives wrong results on this adapter (${device.adapter}), by ${describe(program, 0, { name, nodes })}${more}`;
};
