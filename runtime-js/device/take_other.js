// What takes the place of a kernel that a GPU computes wrongly: a script that is fetched where one is wrong.
// <canaries>
import { UnsupportedError } from '../errors.js';
// </canaries>
// <alternatives>
import { fetchJson } from '../fetch/fetch_file.js';
// </alternatives>
import { watchDownloads } from '../fetch/watch_downloads.js';
// <canaries>
import { askKnown, placeOf } from './check_kernels.js';
// </canaries>
import { at, describe, launchesOf, nodesOf } from './device_program.js';
// <check>
import { fetchReferences } from './reference_kernels.js';
// </check>
import { tryKernels } from './try_kernels.js';
// <alternatives>
import { unpackSource } from './unpack_source.js';

// </alternatives>

/** @typedef {import('../model.js').KernelFault} KernelFault */
/** @typedef {import('./check_kernels.js').Checks} Checks */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {Pick<import('./build_device.js').Built, 'plan' | 'device' | 'program'>} On */

// <check>
/** Part of a run's work above which another backend, which has vectors and threads, is faster than kernels on the host. */
const MOST_ON_HOST = 1 / 32;

/** Whether the host would do little of a run, were this kernel left to it, too. */
const isLittle = (/** @type {Program} */ { kernels, launches }, /** @type {number} */ added) => {
  let [own, all] = [0, 0];
  for (const { kernel } of launches) {
    const { flops, bytes, reference } = at(kernels, kernel);
    all += flops + bytes;
    if (reference || kernel === added) own += flops + bytes;
  }
  return own <= all * MOST_ON_HOST;
};
// </check>

/**
 * Gives a kernel its next source, which is not compiled yet, or the host in its place.
 * @param {On} on
 * @param {number} kernel
 * @returns {Promise<KernelFault['action'] | undefined>} undefined where none is left
 * @throws {import('../errors.js').ModelError} for a file that does not arrive
 */
async function take({ plan, program }, kernel) {
  const one = at(program.kernels, kernel);
  // <subgroups>
  if (one.subgroups) {
    delete one.subgroups;
    one.taken = 'without-subgroups';
    return one.taken;
  }
  // </subgroups>
  const files = watchDownloads({ ...plan, signal: undefined }); // after the load, too, whose signal may be aborted
  try {
    // <alternatives>
    if (plan.alternatives) program.alternatives ??= await fetchJson(plan.alternatives, files);
    const next = program.alternatives?.[kernel]?.shift();
    if (next) return Object.assign(one, next, { source: unpackSource(next.source) }).taken;
    // </alternatives>
    // <check>
    if (plan.references && one.taken !== 'host' && (!plan.others || isLittle(program, kernel))) {
      program.references ??= await fetchReferences(plan.references, files, true);
      one.reference = program.references.get(kernel);
      if (one.reference) {
        one.taken = 'host';
        delete one.norm; // what the GPU computes matters no more
        return one.taken;
      }
    }
    // </check>
  } finally {
    files.end();
  }
  return undefined;
}

/**
 * Gives a kernel that is compiled and wrong the first of its other sources that is right.
 * @param {On} on
 * @param {number} kernel
 * @returns {ReturnType<typeof take>}
 */
export async function replace(on, kernel) {
  const action = await take(on, kernel).catch(() => undefined); // what does not arrive takes no place
  if (!action || action === 'host') return action;
  await on.device.compile(() => {}, [kernel]);
  return (await tryKernels(on.device, on.program, [kernel])).failed.length ? replace(on, kernel) : action;
}

/**
 * Gives kernels the sources that were right when they were tried before.
 * @param {On} on
 * @param {readonly KernelFault[]} faults
 */
export async function takeKnown(on, faults) {
  const { program } = on;
  for (const { kernel: name, nodes, action } of faults)
    for (const [kernel, one] of program.kernels.entries())
      if (one.name === name && `${nodesOf(launchesOf(program, kernel))}` === `${nodes}` && action !== 'other-backend')
        // Of a program that another device had before, it has been taken.
        while (one.taken !== action && (await take(on, kernel)));
}

// <canaries>
/** @type {KernelFault['action']} */
const GIVEN_UP = 'other-backend';

/**
 * @param {On} on
 * @param {KernelFault[]} faults that are known
 * @throws {UnsupportedError} where another backend can take the place of this one
 * @throws {import('../errors.js').ModelError} for a file that does not arrive
 */
export async function avoid(on, faults) {
  const wrong = on.plan.others && refusal(on, faults);
  if (wrong) throw wrong;
  await takeKnown(on, faults);
}

/**
 * Replaces kernels that have failed; completes the report, sets `wrong` where nothing is right, and keeps it for later visits.
 * @param {Checks} checks
 * @param {On} on
 * @param {readonly KernelFault[]} known
 * @param {readonly number[]} failed kernels
 */
export async function conclude(checks, on, known, failed) {
  const { program, plan } = on;
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
  checks.report?.failed.push(...faults);
  if (failed.length || !checks.skipped?.length) await note(checks, on, faults);
  checks.wrong = refusal(on, faults);
  if (failed.length) console.warn(checks.wrong?.message ?? say(on, faults));
}

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
  const [first, ...others] = faults.map(({ kernel: name, nodes }) => describe(program, 0, { name, nodes }));
  const more = others.length ? ` and ${others.length} more` : '';
  return `${plan.backend} gives wrong results on this adapter (${device.adapter}), by ${first}${more}`;
};
// </canaries>
