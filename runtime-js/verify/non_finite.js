// Outputs of a GPU that are not finite, though the inputs are: the run is repeated on wasm, which says whether the model itself gives them.

import { RunError } from '../errors.js';
import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { numbersOf } from '../values/compare_results.js';
import { copied } from '../values/copy_inputs.js';
import { hasNonFinite } from '../values/into.js';
import { isOnDevice, referenceOf } from './reference.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/**
 * @typedef {object} Watching Outputs of a model on a GPU.
 * @property {(values: any) => Promise<readonly any[]>} repeat a run on the GPU
 * @property {boolean} on false: there is nothing more to find out
 * @property {(values: any) => any} [hold] copies of a run's inputs, before it begins
 */
/** @typedef {import('./reference.js').Compared & Watching} Watch */

/**
 * Judges a run that has elements that are no finite numbers. Inputs are the caller's, who may have changed them since the run
 * began. So it is repeated on the GPU and on wasm at the same time, with what they are then. Where all is finite now, or the inputs
 * fit no more (an array that was transferred has no elements), inputs of the runs that follow are copied before they begin, and
 * these are repeated on wasm alone.
 * @param {Watch} watch
 * @param {any} values the caller's inputs
 * @param {readonly any[]} results in the order of the manifest's outputs
 * @param {any} held copies of the inputs, where they were made
 * @param {AbortSignal | undefined} signal of the run
 * @throws {RunError} `wrong-results`: elements are finite on wasm
 */
export async function judge(watch, values, results, held, signal) {
  const signals = signal ? [watch.life, signal] : [watch.life];
  for (const one of signals) if (one.aborted) throw reasonOf(one);
  await unlessAborted(decide(watch, values, results, held), signals, () => {});
}

/** @type {(watch: Watch, values: any, results: readonly any[], held: any) => Promise<void>} */
async function decide(watch, values, results, held) {
  const { manifest, info } = watch;
  const { inputs, outputs } = manifest;
  const given = held ?? values;
  if (!canTell(inputs, given)) return;
  const { name } = /** @type {Manifest['outputs'][number]} */ (
    outputs.find((spec, i) => hasNonFinite(spec, results[i]))
  );
  /** @param {string} reason */
  const giveUp = (reason) => {
    if (!watch.on || watch.life.aborted) return;
    console.warn(
      `output ${JSON.stringify(name)} has elements that are not finite on ${info.backend} (${info.adapter}), and the inputs ` +
        `are; whether the model itself gives them is not known: ${reason}`,
    );
    conclude(watch, 'unchecked');
  };
  const holdNext = () => {
    watch.hold = (next) => (areArrays(inputs, next) ? copied(next) : undefined);
  };
  if (manifest.states) return giveUp('runs depend on states that runs before have left');
  if (!manifest.backends.some(({ backend }) => backend === 'wasm'))
    return giveUp('compile with wasm among the --targets, and the run is repeated there');
  /** @type {readonly any[]} */
  let again;
  /** @type {import('../model.js').Outputs} */
  let wanted;
  try {
    const reference = await referenceOf(watch, watch.life);
    if (!canTell(inputs, given)) return;
    [again, wanted] = await Promise.all([held ? results : watch.repeat(given), reference.run(given)]);
  } catch (error) {
    const isOfInputs = error instanceof RangeError || error instanceof TypeError;
    if (isOfInputs && !held && areArrays(inputs, values)) return holdNext();
    return giveUp(/** @type {Error} */ (error).message);
  }
  let found = false;
  for (const [i, { name, dtype }] of outputs.entries()) {
    const [got, want] = [numbersOf(again[i], dtype), numbersOf(wanted[name], dtype)];
    const lost = got.filter((n, j) => !Number.isFinite(n) && Number.isFinite(want[j])).length;
    if (lost) throw wrong(info, name, lost, got.length);
    found ||= hasNonFinite({ dtype }, again[i]);
  }
  if (found) conclude(watch, 'expected');
  else holdNext();
}

/**
 * Whether wasm can take inputs, and their floats are finite.
 * @param {Manifest['inputs']} inputs
 * @param {any} values
 */
const canTell = (inputs, values) =>
  inputs.every((spec) => {
    const value = values?.[spec.name];
    return !isOnDevice(spec, value) && !hasNonFinite(spec, value?.data ?? value);
  });

/**
 * Whether `copied` has all of inputs: a video goes on.
 * @param {Manifest['inputs']} inputs
 * @param {any} values
 */
const areArrays = (inputs, values) =>
  inputs.every(({ name }) => {
    const value = values?.[name];
    return ArrayBuffer.isView(value) || (value?.shape && ArrayBuffer.isView(value.data));
  });

/**
 * Ends the search in this session.
 * @param {Watch} watch
 * @param {'expected' | 'unchecked'} nonFinite
 */
function conclude(watch, nonFinite) {
  watch.on = false;
  watch.hold = undefined;
  watch.info.verified = Object.assign(watch.info.verified ?? { every: 0, runs: 0, largest: 0 }, { nonFinite });
}

/** @type {(info: any, name: string, lost: number, length: number) => RunError} */
function wrong({ backend, adapter, precision }, name, lost, length) {
  const narrow = precision === 'f16' ? ', or compile without --precision f16: float16 ends at 65504' : '';
  return new RunError(
    'wrong-results',
    `output ${JSON.stringify(name)} is wrong on ${backend} (${adapter}): ${lost} of ${length} elements are not finite, and on ` +
      `wasm they are; load with { backend: 'wasm' }${narrow}`,
  );
}
