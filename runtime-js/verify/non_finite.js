// Outputs of a GPU that are not finite, though the inputs are: the run is repeated on wasm, which says whether the model itself gives them.

import { RunError } from '../errors.js';
import { numbersOf } from '../values/compare_results.js';
import { hasNonFinite } from '../values/into.js';
import { isOnDevice, referenceOf } from './reference.js';
import * as again from './repeat_run.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('./repeat_run.js').Turn} Turn */
/**
 * @typedef {object} Watching Outputs of a model on a GPU.
 * @property {boolean} on false: there is nothing more to find out
 * @property {(data: Input[]) => Input[] | undefined} [hold] copies of a run's inputs, as it begins; throws what was
 *   found after the run before
 */
/** @typedef {import('./reference.js').Compared & Watching} Watch */
/** @typedef {import('./verify_runs.js').Compare} Search the results of a run, which rejects where they are wrong */

/**
 * Judges a run that has elements that are no finite numbers. Inputs are the caller's, who may have changed them since the run
 * began. So it is repeated on the GPU, too, with what they are now. Where all is finite then, or the inputs fit no more (an array that
 * was transferred has no elements), inputs of the runs that follow are copied as they begin, and these are repeated on wasm alone.
 * States are read as the run has found them, as far as it leaves them, before another run of its session.
 * @param {Watch} watch
 * @param {Turn} turn
 * @param {readonly any[] | undefined} results in the order of the manifest's outputs; undefined where these stay on the device
 * @param {Input[] | undefined} held copies of the inputs, where they were made
 * @param {Manifest['outputs'][number]} [left] the output that has such elements, of a run that is over
 * @throws {RunError} `wrong-results`: elements are finite on wasm
 */
export async function judge(watch, turn, results, held, left) {
  const { manifest, info } = watch;
  const { inputs, outputs } = manifest;
  const { name } = /** @type {Manifest['outputs'][number]} */ (
    left ?? outputs.find((spec, i) => hasNonFinite(spec, results?.[i]))
  );
  const own = { ...turn, data: held ?? again.copiesOf(turn.data) };
  const given = again.inputsOf(manifest, own);
  if (!inputs.every((spec) => canTell(spec, given[spec.name]))) return;
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
    watch.hold = (data) => (data.every(ArrayBuffer.isView) ? again.copiesOf(data) : undefined);
  };
  if (!manifest.backends.some(({ backend }) => backend === 'wasm'))
    return giveUp('compile with wasm among the --targets, and the run is repeated there');
  /** @type {readonly any[]} */
  let got;
  /** @type {Record<string, any>} */
  let wanted;
  try {
    /** @type {again.States | undefined} */
    let states;
    /** @type {Record<string, any> | undefined} */
    let saved;
    // <states>
    if (manifest.states) {
      if (left) return giveUp('it is over, and the states that it found may have changed');
      if (!again.leavesStates(manifest)) return giveUp('the run has changed the states that it found');
      states = await again.statesOf(watch.use(), own);
      if (manifest.states.some((spec, i) => hasNonFinite(spec, states?.[i])))
        return giveUp('the states that the run found have such elements, too');
      saved = again.savedOf(manifest, own, states);
    }
    // </states>
    const reference = await referenceOf(watch, watch.life);
    const repeating = (held && results) ?? again.repeat(watch.use(), own, states);
    Promise.resolve(repeating).catch(() => {}); // that wasm refuses the inputs says more
    wanted = await again.repeatOnWasm(reference, given, saved);
    got = await repeating;
  } catch (error) {
    const isOfInputs = error instanceof RangeError || error instanceof TypeError;
    if (isOfInputs && !held && turn.data.every(ArrayBuffer.isView)) return holdNext();
    return giveUp(/** @type {Error} */ (error).message);
  }
  let found = false;
  for (const [i, { name, dtype }] of outputs.entries()) {
    const [numbers, want] = [numbersOf(got[i], dtype), numbersOf(wanted[name], dtype)];
    const lost = numbers.filter((n, j) => !Number.isFinite(n) && Number.isFinite(want[j])).length;
    if (lost) throw wrong(info, name, lost, numbers.length);
    found ||= hasNonFinite({ dtype }, got[i]);
  }
  if (found) conclude(watch, 'expected');
  else holdNext();
}

/**
 * Whether wasm can take an input, and its floats are finite.
 * @param {Manifest['inputs'][number]} spec
 * @param {any} value
 */
const canTell = (spec, value) => !isOnDevice(spec, value) && !hasNonFinite(spec, value?.data ?? value);

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
