// The steps of a program, in the order of a run. What they launch is collected until a value of the device, or the host,
// has to have it done.
import { at } from './device_program.js';
import * as optional from './optional_device.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {import('./device_program.js').Segment} Segment */
/** @typedef {import('./device_program.js').Started} Started */
/** @typedef {import('./device_program.js').Step} Step */
/**
 * @typedef {(launches: readonly Started[], reads: readonly number[], lengths?: readonly number[]) => Promise<Words[]>} Flush
 *   carries out launches, and then reads values: all of them, or so many first elements
 */
/** @typedef {{ reads: readonly number[], lengths?: readonly number[] }} Wait until launches are carried out, and values read */
/**
 * @typedef {object} Run
 * @property {Pick<import('./build_device.js').Built, 'host' | 'plan' | 'program'>} built
 * @property {number[]} scalars
 * @property {readonly Input[]} inputs
 * @property {Started[]} pending launches that wait to be carried out
 * @property {(call: number) => void} [onCall] a call of the host is over
 */

const none = /** @type {readonly number[]} */ ([]);

/**
 * Carries out steps, but for the launches that are pending in the end.
 * @param {Run} run
 * @param {readonly Step[]} steps
 * @returns {Generator<Wait, void, Words[]>}
 */
export function* playSteps(run, steps) {
  const { scalars } = run;
  const { host, program } = run.built;
  for (const step of steps) {
    if (Array.isArray(step)) {
      for (let number = step[0]; number < step[1]; number++) {
        const own = at(program.launches, number).scalars;
        run.pending.push({ number, scalars: own ? own.map((n) => Number(scalars[n])) : none });
      }
    } else if ('call' in step) {
      const { reads } = at(program.calls, step.call);
      host?.call(step.call, yield { reads: reads.map(({ value }) => value) }, scalars);
      run.onCall?.(step.call);
    } else yield* optional.playStructure(run, step, playSteps);
  }
}

/**
 * The result of what waits for the device now and then, and what is pending then. It is synchronous up to the first wait:
 * Chromium sends its GPU process what there is after each microtask.
 * @template T
 * @param {Run} run
 * @param {Generator<Wait, T, Words[]>} going
 * @param {Flush} flush
 */
export async function finish(run, going, flush) {
  let next = going.next();
  while (!next.done) {
    const { reads, lengths } = next.value;
    const launches = run.pending;
    run.pending = [];
    next = going.next(await flush(launches, reads, lengths));
  }
  if (run.pending.length) await flush(run.pending, []);
  return next.value;
}

/**
 * The outputs that are on the device.
 * @param {Program} program
 */
export const heldBy = ({ outputs }) => outputs.filter((value) => value >= 0);

/**
 * The sets of values that steps read from the device at once.
 * @param {Program} program
 * @param {readonly Step[]} steps
 * @returns {number[][]}
 */
function readsOf(program, steps) {
  return steps.flatMap((step) => {
    if (Array.isArray(step)) return [];
    if ('call' in step) return [at(program.calls, step.call).reads.map(({ value }) => value)];
    if ('scalar' in step) return step.value === undefined ? [] : [[step.value]];
    const condition = 'counter' in step ? step.until : step.if;
    const inner = 'counter' in step ? step.body : [...step.then, ...step.else];
    return [...(condition?.value === undefined ? [] : [[condition.value]]), ...readsOf(program, inner)];
  });
}

/**
 * Prepares to read each set of values that a run may read.
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 * @returns {Flush}
 */
export function prepareSegments(device, program) {
  /** @type {Map<string, Segment>} */
  const segments = new Map();
  for (const values of [...readsOf(program, program.steps), heldBy(program), []]) {
    const key = values.join();
    if (!segments.has(key)) segments.set(key, device.segment(values));
  }
  return async (launches, reads, lengths) => {
    if (!launches.length && !reads.length) return [];
    return /** @type {Segment} */ (segments.get(reads.join()))(launches, lengths);
  };
}
