// What takes the place of a kernel that a GPU computes wrongly.
// <alternatives>
import { fetchJson } from '../fetch/fetch_file.js';
// </alternatives>
import { watchDownloads } from '../fetch/watch_downloads.js';
import { at, launchesOf, nodesOf } from './device_program.js';
// <check>
import { fetchReferences } from './reference_kernels.js';
// </check>
import { tryKernels } from './try_kernels.js';
// <alternatives>
import { unpackSource } from './unpack_source.js';

// </alternatives>

/** @typedef {import('../model.js').KernelFault} KernelFault */
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
    return Object.assign(one, { subgroups: undefined, taken: 'without-subgroups' }).taken;
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
        delete one.checksum; // what the GPU computes matters no more
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
