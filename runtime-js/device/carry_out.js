// A run on a device that has its inputs: its steps, then its outputs; or the time of each step.
import { UnsupportedError } from '../errors.js';
import { narrow, words } from '../values/convert.js';
import { lengthOf, typedArray } from '../values/dtypes.js';
import { checkRefusals, extentsOf, shapeOf, varies } from '../values/sizes.js';
import { reachOf, runsOf } from '../values/strided.js';
import { at, storageOf } from './device_program.js';
import { finish, heldBy, playSteps } from './play_steps.js';

/** @typedef {import('../model.js').KernelTime} KernelTime */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../start_session.js').Output} Output */
/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../values/sizes.js').Spec} Spec */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./device_program.js').Runs} Runs */
/** @typedef {import('./device_program.js').Step} Step */
/** @typedef {import('./play_steps.js').Run} Run */
/** @typedef {import('./play_steps.js').Wait} Wait */

/**
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions, and with states the session
 * @param {boolean} download else outputs stay on the device
 * @returns {Promise<Output[]>}
 */
export async function carryOut(now, inputs, sizes, download) {
  checkHeld(now, download);
  /** @type {Run} */
  const run = { built: now, scalars: [...sizes], inputs, pending: [] };
  // <states>
  if (now.plan.states) run.scalars.length = now.plan.dimensions.length; // without the session
  // </states>
  // <generate>
  const { sentScalars } = now.device;
  if (sentScalars) {
    const before = sentScalars();
    const running = finish(run, outputsOf(now, run, download), now.flush);
    if (!now.onLaunched) await running;
    const sent = sentScalars() - before;
    now.onLaunched?.();
    return [...(await running), Int32Array.of(sent)];
  }
  // </generate>
  return finish(run, outputsOf(now, run, download), now.flush);
}

/**
 * The outputs of a run.
 * @param {Built} now
 * @param {Run} run
 * @param {boolean} download
 * @returns {Generator<Wait, Output[], Words[]>}
 */
function* outputsOf(now, run, download) {
  const { program, plan, device } = now;
  const { scalars } = run;
  yield* playSteps(run, program.steps);
  checkRefusals(plan.refusals, scalars);
  // <states>
  /** @type {(i: number) => Int32Array | undefined} */
  const measured = (i) => {
    const { scalar } = at(plan.outputs, i);
    return scalar === undefined ? undefined : Int32Array.of(Number(scalars[scalar]));
  };
  // </states>
  const layouts = plan.outputs.map(({ shape: whole }) => {
    const shape = shapeOf(whole, scalars);
    const runs = runsOf(extentsOf(whole), shape);
    return { length: lengthOf(shape), runs, own: varies(whole) ? { shape } : {} };
  });
  if (!download) {
    yield { reads: [] };
    return layouts.map(({ runs, own }, i) => {
      // <states>
      if (measured(i)) return /** @type {Int32Array} */ (measured(i));
      // </states>
      return Object.assign(device.copyOut(at(program.outputs, i), runs), own);
    });
  }
  const lengths = layouts.map(({ runs }) => reachOf(runs)).filter((_, i) => at(program.outputs, i) >= 0);
  const left = (yield { reads: heldBy(program), lengths }).values();
  return layouts.map(({ length, runs, own }, i) => {
    // <states>
    if (measured(i)) return /** @type {Int32Array} */ (measured(i));
    // </states>
    const value = at(program.outputs, i);
    const { dtype } = /** @type {Spec} */ (plan.outputs[i]);
    if (value < 0) return Object.assign(computed(now, i, length, runs), own);
    const whole = /** @type {Words} */ (left.next().value);
    const room = () => words(storageOf(program, value).dtype, length);
    return Object.assign(narrow(dtype, denseOf(whole, runs, room)), own);
  });
}

/**
 * Elements without what lies between their runs.
 * @template {Words | import('../model.js').TypedArray} T
 * @param {T} whole as far as the runs reach
 * @param {Runs} runs
 * @param {() => T} room for the elements alone
 * @returns {T}
 */
export function denseOf(whole, runs, room) {
  if (runs.length <= 1) return whole;
  const dense = /** @type {any} */ (room());
  for (const { dense: to, spaced, length } of runs) dense.set(whole.subarray(spaced, spaced + length), to);
  return dense;
}

/** @type {(now: Built, i: number, length: number, runs: Runs) => import('../model.js').TypedArray} */
function computed({ host, plan, program }, i, length, runs) {
  const { dtype } = /** @type {Spec} */ (plan.outputs[i]);
  const bytes = host?.read(at(program.host?.outputs ?? [], i), dtype, reachOf(runs));
  const whole = typedArray(dtype, new Uint8Array(bytes ?? []).buffer);
  return denseOf(whole, runs, () => typedArray(dtype, new ArrayBuffer(length * whole.BYTES_PER_ELEMENT)));
}

/**
 * @param {Built} now
 * @param {boolean} download
 * @throws {UnsupportedError} for outputs that are to stay on the device, and are not there
 */
function checkHeld({ plan, program }, download) {
  const missing = download ? -1 : program.outputs.findIndex((value) => value < 0);
  if (missing < 0) return;
  const name = JSON.stringify(plan.outputs[missing]?.name);
  throw new UnsupportedError('output', `output ${name} is computed on the host: run without { output }`);
}

/**
 * The time of each launch in a run, the mean of so many, and of each call of the host, with what it reads and writes; in the
 * order of the steps.
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions, and with states the session
 * @param {number} repeat
 * @returns {Promise<KernelTime[]>}
 */
export async function profile(now, inputs, sizes, repeat) {
  const { device, program } = now;
  /** @type {(step: { name: string, nodes: string[], ops: string[] }) => KernelTime} */
  const untimed = ({ name, nodes, ops }) => ({ name, nodes, ops, ms: 0, clock: 'wall', count: 0 });
  const launches = program.launches.map((launch) => {
    const { flops, bytes } = at(program.kernels, launch.kernel);
    return { ...untimed(launch), flops, bytes };
  });
  const calls = program.calls.map(untimed);
  /** @type {(time: KernelTime, ms: number, clock: KernelTime['clock']) => void} */
  const add = (time, ms, clock) => {
    Object.assign(time, { ms: time.ms + ms, clock, count: time.count + 1 });
  };
  let began = 0;
  /** @type {Run} */
  const run = {
    ...{ built: now, scalars: [...sizes], inputs, pending: [] },
    onCall: (call) => add(at(calls, call), performance.now() - began, 'wall'),
  };
  // <states>
  if (now.plan.states) run.scalars.length = now.plan.dimensions.length;
  // </states>
  /** @type {import('./play_steps.js').Flush} */
  const flush = async (started, reads) => {
    const { ms, clock } = await device.time(started, repeat);
    started.forEach(({ number }, k) => {
      add(at(launches, number), at(ms, k) / repeat, clock);
    });
    began = performance.now();
    return now.flush([], reads);
  };
  await finish(run, playSteps(run, program.steps), flush);
  /** @type {(steps: readonly Step[]) => KernelTime[]} */
  const ordered = (steps) =>
    steps.flatMap((step) => {
      if (Array.isArray(step)) return launches.slice(...step);
      if ('call' in step) return [at(calls, step.call)];
      if ('scalar' in step) return [];
      return 'counter' in step ? ordered(step.body) : [...ordered(step.then), ...ordered(step.else)];
    });
  return ordered(program.steps);
}
