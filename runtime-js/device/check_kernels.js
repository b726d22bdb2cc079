// Kernels that a driver computes wrongly are found at load, and once more after some runs. What follows is in a script of its own,
// which is fetched only then.
import { DeviceLostError } from '../errors.js';
import { importScript } from '../fetch/import_script.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { isSoftware } from './software_adapter.js';
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
 * @property {number[]} [skipped] kernels for which there was no time
 * @property {number} [most] milliseconds that they take
 * @property {import('../errors.js').ModelError} [wrong] the end of all runs
 * @property {(run: Promise<unknown>) => void} [onRun] takes each
 * @property {(report: import('../model.js').CanaryInfo) => void} [onReport] takes each that follows the load
 */

/** The most that canaries take of the time that a load has taken, on software adapters. */
const SHARE = 0.02;

/** Milliseconds that they take on others. */
const MOST_MS = 50;

/** Runs until kernels are tried once more: the GPU is warm by then. */
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
 * @throws {import('../errors.js').ModelError} where another backend can take the place of this one, or a file does not arrive
 */
export async function avoidFaults(checks, on) {
  const faults = await knownFaults(checks, on);
  if (faults.length) await (await scriptOf(on)).avoid(on, faults);
}

/**
 * Tries the kernels of a device that has compiled them.
 * @param {Checks} checks
 * @param {On} on
 * @returns {Promise<number>} how many have other sources now: launches that are in use do not
 * @throws {import('../errors.js').ModelError} `wrong-results`, or where the script does not arrive that would replace what is wrong
 */
export async function checkKernels(checks, on) {
  const { device, program, plan } = on;
  const all = program.kernels.flatMap(({ norm }, kernel) => (norm === undefined ? [] : [kernel]));
  const software = isSoftware(device.adapter);
  checks.most ??= software ? SHARE * (performance.now() - checks.began) : MOST_MS;
  // Where some are known to be wrong, no other result than that of all can take the place of what is known.
  const known = await knownFaults(checks, on);
  const ms = plan.canaries === 'all' || known.length ? undefined : checks.most;
  // What had no time before comes first now.
  const order = new Set([...(checks.skipped ?? []), ...all]);
  let { skipped, failed } = await tryKernels(device, program, order, ms, software);
  // A device that gets one wrong may get others wrong.
  if (failed.length) ({ skipped, failed } = await tryKernels(device, program, all));
  checks.skipped = skipped;
  checks.report = { checked: all.length - skipped.length, skipped: skipped.length, failed: [] };
  if (failed.length || (await checks.known)) {
    const script = await scriptOf(on).catch((error) => {
      if (failed.length) checks.wrong = error;
    });
    await script?.conclude(checks, on, known, failed);
  }
  checks.onReport?.(checks.report);
  if (checks.wrong) throw checks.wrong;
  return failed.length;
}

/**
 * After so many runs, once none follows at once, or as many more have, kernels are tried again; where one fails the device is set up anew,
 * as after a loss, or all further runs reject.
 * @param {Checks} checks
 * @param {(task: (now: Built) => Promise<void>) => Promise<void>} enqueue
 * @param {(notice: { canaries: import('../model.js').CanaryInfo, reason?: string }) => void} notify takes each report that follows that of the load
 * @returns what is known of the session
 */
export function checkLater(checks, enqueue, notify) {
  let left = RUNS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const check = () => {
    left = Infinity;
    enqueue(async (now) => {
      if (await checkKernels(checks, now)) throw new DeviceLostError('lost', 'failed');
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

/** @type {(on: On) => Promise<typeof import('./take_other.js')>} */
const scriptOf = ({ plan }) =>
  importScript('kernels that are wrong', plan.takeOther(), watchDownloads({ timeout: plan.timeout }));

// What is wrong is kept in the browser's IndexedDB. Without it, as in some private windows, each visit finds it anew.
const NAME = 'webnn-compile';
const PATIENCE = 500; // ms: some browsers never answer

/**
 * The result of a request to what is known, by the hash of a program's file; null or undefined where there is no database.
 * @param {(store: IDBObjectStore) => IDBRequest} use
 * @returns {Promise<any>}
 */
export const askKnown = (use) =>
  new Promise((resolve) => {
    setTimeout(resolve, PATIENCE);
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME);
    opening.onerror = () => resolve(null);
    opening.onsuccess = () => {
      const request = use(opening.result.transaction(NAME, 'readwrite').objectStore(NAME));
      request.onsuccess = () => resolve(request.result);
      opening.result.close(); // when it is done
    };
  }).catch(() => {});

/** Adapter and browser that faults are of: another adapter or browser may have others. */
export const placeOf = (/** @type {On} */ { device }) => `${device.adapter}; ${globalThis.navigator?.userAgent}`;

/** @type {(checks: Checks, on: On) => Promise<KernelFault[]>} */
const knownFaults = async ({ known }, on) => {
  const found = await known;
  return found?.where === placeOf(on) ? found.faults : [];
};
