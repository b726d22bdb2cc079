// Runs of programs whose steps are not the same in every run: loops, branches, sizes that the inputs decide. The steps are
// data; what they launch is collected until a value of the device decides how the run goes on.
import { narrow } from '../values/convert.js';
import { evaluate } from '../values/sizes.js';
import { at, valueAt } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../start_first.js').Input} Input */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./device_program.js').Started} Started */
/** @typedef {import('./device_program.js').Step} Step */
/** @typedef {import('./device_program.js').ElementPlace} ElementPlace */
/**
 * @typedef {object} Run
 * @property {number[]} scalars
 * @property {readonly Input[]} inputs
 * @property {Started[]} pending launches that wait to be handed over
 * @property {(call: number, ms: number) => void} [onCall] a call of the host is over
 */

/**
 * The launches of all steps, in `run.pending`. Whenever the device has to carry these out first, it yields the values that
 * are then read, and takes them.
 * @param {Built} built
 * @param {readonly Step[]} steps
 * @param {Run} run
 * @returns {Generator<number[], void, Words[]>}
 */
export function* playSteps(built, steps, run) {
  const { host, program, give } = built;
  const { scalars, pending } = run;
  for (const step of steps) {
    if (typeof step === 'number') {
      const { scalars: own } = at(program.launches, step);
      pending.push({ number: step, scalars: own ? own.map((n) => Number(scalars[n])) : [] });
    } else if ('call' in step) {
      const { reads } = at(program.calls, step.call);
      const arrays = reads.length || pending.length ? yield reads.map(({ value }) => value) : [];
      reads.forEach(({ value, offset }, k) => {
        host.put(offset, narrow(valueAt(program, value).dtype, at(arrays, k)));
      });
      for (const [n, offset] of program.host?.scalars ?? []) host.put(offset, Int32Array.of(Number(scalars[n])));
      const began = performance.now();
      host.play(`segment_${step.call}`, { launch() {}, give });
      run.onCall?.(step.call, performance.now() - began);
      give(step.call);
    } else if ('scalar' in step) scalars[step.scalar] = Number(yield* elementAt(built, step, run, 'int32'));
    else if ('counter' in step) {
      const trips = evaluate(step.trips, scalars);
      for (let t = 0; t < trips; t++) {
        if (step.until && !(yield* elementAt(built, step.until, run, 'bool'))) break;
        scalars[step.counter] = t;
        yield* playSteps(built, step.body, run);
      }
    } else {
      const holds = yield* elementAt(built, step.if, run, 'bool');
      yield* playSteps(built, holds ? step.then : step.else, run);
    }
  }
}

/**
 * @param {Built} built
 * @param {ElementPlace} place
 * @param {Run} run
 * @param {string} dtype
 * @returns {Generator<number[], number | bigint, Words[]>}
 */
function* elementAt({ host }, { value, offset, input }, { inputs }, dtype) {
  if (value !== undefined) {
    const [words] = yield [value];
    return Number(words?.[0]);
  }
  if (offset !== undefined) {
    const bytes = host.take(offset, dtype, 1).slice();
    return dtype === 'bool' ? Number(bytes[0]) : Number(new Int32Array(bytes.buffer)[0]);
  }
  const given = inputs[Number(input)];
  if (!given || !ArrayBuffer.isView(given))
    throw new TypeError('an input that decides which steps run must be an array');
  return Number(new Uint8Array(given.buffer, given.byteOffset, 1)[0]);
}

/**
 * What steps read from the device at once, each set of values.
 * @param {import('./device_program.js').Program} program
 * @param {readonly Step[]} steps
 * @returns {number[][]}
 */
export function readsOf(program, steps) {
  return steps.flatMap((step) => {
    if (typeof step === 'number') return [];
    if ('call' in step) return [at(program.calls, step.call).reads.map(({ value }) => value)];
    if ('scalar' in step) return step.value === undefined ? [] : [[step.value]];
    const asked = 'counter' in step ? step.until : step.if;
    const inner = 'counter' in step ? step.body : [...step.then, ...step.else];
    return [...(asked?.value === undefined ? [] : [[asked.value]]), ...readsOf(program, inner)];
  });
}

/**
 * Carries out the steps of a run; `flush` carries out what is pending, and reads values.
 * @param {Built} built
 * @param {Run} run
 * @param {(reads: number[]) => Promise<Words[]>} flush
 */
export async function carryOutSteps(built, run, flush) {
  const { pending } = run;
  pending.length = 0; // what a run that failed has left
  const going = playSteps(built, built.program.steps ?? [], run);
  for (let next = going.next(); !next.done; ) {
    const arrays = await flush(next.value);
    pending.length = 0;
    next = going.next(arrays);
  }
}
