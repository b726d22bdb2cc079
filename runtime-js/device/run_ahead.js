// A step of a decoder that is launched before the token of the one before has come back: the device has it already.

import { at, storageOf } from './device_program.js';

/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./device_program.js').Condition} Condition */
/** @typedef {import('./device_program.js').Step} Step */
/** @typedef {import('../start_session.js').Input} Input */

/**
 * Whether runs of a program can take the token from the device: it waits for no value of the device, nothing but launches
 * reads the input, and no run is refused once it has begun.
 * @param {Pick<Built, 'device' | 'plan' | 'program'>} built
 */
export function runsAhead({ device, plan, program }) {
  const { inputs, outputs, host, calls, crossings, steps } = program;
  if (!plan.fed || !device.token || crossings || calls.length || plan.refusals?.length) return false;
  const [to, from] = [at(inputs, plan.fed.input), at(outputs, plan.fed.output)];
  if (to < 0 || from < 0 || at(host?.inputs ?? [], plan.fed.input) >= 0) return false;
  const sameWords = storageOf(program, to).dtype === storageOf(program, from).dtype;
  return sameWords && !decides(steps, plan.fed.input);
}

/** @type {(steps: readonly Step[], input: number) => boolean} whether an input decides how a run goes on */
const decides = (steps, input) =>
  steps.some((step) => {
    if (Array.isArray(step) || 'call' in step) return false;
    if ('scalar' in step) return step.input === input;
    const condition = 'counter' in step ? step.until : step.if;
    const inner = 'counter' in step ? step.body : [...step.then, ...step.else];
    return condition?.input === input || decides(inner, input);
  });

/**
 * The inputs of a run, with the token of the session's run before in place of its own. Copies are kept for `undo` of what rows
 * that are dropped do not concern.
 * @param {Built} built of the session
 * @param {Input[]} inputs
 */
export function feed({ device, plan, program }, inputs) {
  device.hold?.(lasting(plan, program));
  return inputs.map((input, i) => (i === plan.fed?.input && device.token?.()) || input);
}

/**
 * A function for when a run is launched: the session keeps the token, for the next run may be that of another one.
 * @param {Built} built of the session
 * @param {() => void} [release]
 */
export const onLaunched =
  ({ device, plan, program }, release) =>
  () => {
    device.keepToken?.(at(program.outputs, Number(plan.fed?.output)));
    release?.();
  };

/** @param {Built} built of the session, whose last run is as if it had not been */
export const undo = ({ device, plan, program }) => device.undo?.(lasting(plan, program));

/** @param {Built['plan']} plan @param {Built['program']} program */
const lasting = ({ states = [] }, program) => (program.states ?? []).filter((_, i) => states[i]?.stays);
