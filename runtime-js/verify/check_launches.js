// Which kernels a GPU computes wrongly on a user's own inputs, and whether a run of right kernels has wrong outputs.

import { fetchReferences } from '../device/reference_kernels.js';
import { takeKnown } from '../device/take_other.js';
import { UnsupportedError } from '../errors.js';
import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { compareOutputs, isWrong, withOtherDigits } from './compare_outputs.js';
import { comparingDevice, noFindings } from './comparing_device.js';
import * as again from './repeat_run.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../load/load.js').Part} Part */
/** @typedef {import('../device/device_program.js').Open} Open */
/** @typedef {import('../model.js').KernelCheck} KernelCheck */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../start_session.js').Output} Output */
/** @typedef {import('../start_session.js').OwnPlan} OwnPlan */
/** @typedef {import('../start_session.js').Session} Session */
/**
 * @typedef {object} Checked The model that is checked.
 * @property {Manifest} manifest
 * @property {Part | undefined} part of its backend
 * @property {any} info
 * @property {(changes: Partial<OwnPlan>) => Promise<Session>} begin another session of this backend, with these changes of its plan
 * @property {(run: (data: Input[], scalars: number[]) => Promise<Output[]>) => Promise<Output[]>} withInputs carries out a run with the
 *   inputs to check, when those before it are done
 * @property {() => Session} use its own session
 * @property {{ timeout: number }} fetching how files are fetched
 * @property {readonly AbortSignal[]} signals aborting one ends the check
 */

/** The session whose device compares: others have views of the device that it stands for. */
const FIRST = 0;

/**
 * @param {Checked} model
 * @returns {Promise<KernelCheck>}
 * @throws {UnsupportedError} `check`, where there is nothing to compare; `memory`
 */
export async function checkLaunches(model) {
  const { part, signals } = model;
  const file = referencesOf(part);
  const ending = new AbortController();
  const stop = (/** @type {Event} */ { target }) => ending.abort(reasonOf(/** @type {AbortSignal} */ (target)));
  for (const signal of signals) signal.addEventListener('abort', stop);
  try {
    for (const signal of signals) if (signal.aborted) throw reasonOf(signal);
    return await unlessAborted(compareLaunches(model, file, ending.signal), signals, () => {});
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}

/**
 * @param {Checked} model
 * @param {import('../fetch/fetch_file.js').FileSpec} file of the references
 * @param {AbortSignal} signal
 * @returns {Promise<KernelCheck>}
 */
async function compareLaunches({ manifest, info, begin, withInputs, use, fetching }, file, signal) {
  const files = watchDownloads({ ...fetching, signal });
  const references = await fetchReferences(file, files).finally(files.end);
  let findings = noFindings();
  // Kernels that run on the host are compared, too.
  const failed = (info.canaries?.failed ?? []).filter(
    (/** @type {any} */ { backend, action }) => backend === info.backend && action !== 'host',
  );
  /** @type {(open: Open) => Open} */
  const checking = (open) => async (arriving, plan) => {
    const program = await arriving;
    // A device in place of a lost one does all once more; once the comparison is over it compares nothing.
    if (!findings.over) findings = noFindings();
    const device = await open(arriving, plan);
    // The model's own session has taken the other sources of these.
    for (const kernel of program.kernels)
      if (failed.some((/** @type {any} */ one) => one.kernel === kernel.name)) delete kernel.subgroups;
    await takeKnown({ plan, device, program }, failed);
    return comparingDevice(device, program, references, findings, signal);
  };
  const session = await begin({ checking, signal, warmup: false, canaries: false });
  const { outputs, tolerance } = manifest;
  /** @type {KernelCheck['outputs']} */
  let wrongOutputs = [];
  try {
    await withInputs(async (data, scalars) => {
      const turn = { data, scalars };
      /** @type {import('./repeat_run.js').States | undefined} */
      let states;
      // <states>
      if (manifest.states) states = await again.statesOf(use(), turn);
      // </states>
      const own = await use().run(data, scalars, { output: 'array' });
      const expected = await again.repeat(session, turn, states, FIRST);
      findings.over = true;
      const near = async () => {
        const [others, before] = [data, states].map(
          (arrays) => arrays && Object.values(withOtherDigits({ ...arrays }, tolerance)),
        );
        return named(outputs, await again.repeat(session, { data: others ?? [], scalars }, before, FIRST));
      };
      const all = await compareOutputs(outputs, tolerance, named(outputs, own), named(outputs, expected), near);
      wrongOutputs = all.filter(isWrong).map(({ name, apart, most }) => ({ name, apart, allowed: most }));
      return own;
    });
  } finally {
    session.dispose();
  }
  const { compared, skipped, launches, largest, wrong } = findings;
  return {
    ...{ compared: compared.size, launches, largest },
    skipped: [...skipped].flatMap(([kernel, skip]) => (compared.has(kernel) ? [] : [skip])),
    ...{ wrong: [...wrong.values()], outputs: wrongOutputs },
  };
}

/** @type {(outputs: Manifest['outputs'], results: readonly any[]) => Record<string, any>} */
const named = (outputs, results) => Object.fromEntries(outputs.map(({ name }, i) => [name, results[i]]));

/**
 * The file of the references.
 * @param {Part | undefined} part
 */
function referencesOf(part) {
  const refuse = (/** @type {string} */ reason) => new UnsupportedError('check', `check compares ${reason}`);
  if (!part || part.backend === 'wasm')
    throw refuse(
      "what a GPU computes with wasm, and this model runs on wasm: load it with { backend: 'webgpu' } or 'webgl'",
    );
  if (!part.references)
    throw refuse(
      `launches with references, and no kernel of this model has one on ${part.backend}, as where their arguments have more ` +
        "than 1 GiB, or where all runs on the host: compare outputs with load({ verify: 'sample' })",
    );
  return part.references;
}
