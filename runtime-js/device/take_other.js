// What takes the place of a kernel that a GPU computes wrongly.
// <floats>
import { fetchJson } from '../fetch/fetch_file.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
// </floats>
import { at, launchesOf, nodesOf } from './device_program.js';
// <floats>
import { unpackSource } from './unpack_source.js';

// </floats>

/** @typedef {import('../model.js').KernelFault} KernelFault */
/** @typedef {Pick<import('./build_device.js').Built, 'plan' | 'device' | 'program'>} On */

/**
 * Gives a kernel its next source, which is not compiled yet.
 * @param {On} on
 * @param {number} kernel
 * @returns {Promise<KernelFault['action'] | undefined>} undefined where none is left
 * @throws {import('../errors.js').ModelError} for a file that does not arrive
 */
async function take({ plan, device, program }, kernel) {
  const one = at(program.kernels, kernel);
  // <subgroups>
  if (one.subgroups && device.features.includes('subgroups')) {
    delete one.subgroups;
    one.taken = 'without-subgroups';
    return one.taken;
  }
  // </subgroups>
  // <floats>
  if (plan.floats && one.taken !== 'without-f16') {
    const files = watchDownloads({ ...plan, signal: undefined }); // after the load, too, whose signal may be aborted
    program.floats ??= await fetchJson(plan.floats, files).finally(files.end);
    const source = program.floats?.[kernel];
    if (source) {
      one.source = unpackSource(source);
      one.taken = 'without-f16';
      return one.taken;
    }
  }
  // </floats>
  return undefined;
}

/**
 * Gives kernels the sources that were right when they were tried before.
 * @param {On} on
 * @param {readonly KernelFault[]} faults
 */
async function takeKnown(on, faults) {
  const { kernels } = on.program;
  for (const { kernel: name, nodes, action } of faults)
    for (const [kernel, one] of kernels.entries()) {
      const isOf = name === one.name && `${nodes}` === `${nodesOf(launchesOf(on.program, kernel))}`;
      if (!isOf || action === 'other-backend') continue;
      // Of a program that another device had before, it has been taken.
      while (one.taken !== action && (await take(on, kernel)));
    }
}

export const others = { take, takeKnown };
