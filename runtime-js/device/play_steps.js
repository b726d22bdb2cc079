// Runs of programs whose steps are not the same in every run: loops, branches, sizes that the inputs decide. The steps are
// data; what they launch is collected until a value of the device decides how the run goes on.
import { narrow, words } from '../values/convert.js';
import { copyOf, elementOf, lengthOf, typedArray } from '../values/dtypes.js';
import { checkRefusals, evaluate, extentsOf, shapeOf, varies } from '../values/sizes.js';
import { reachOf, runsOf } from '../values/strided.js';
import { at, storageOf, valueAt } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('../model.js').KernelTime} KernelTime */
/** @typedef {import('../start_first.js').Input} Input */
/** @typedef {import('../start_first.js').Output} Output */
/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./device_program.js').Started} Started */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {import('./device_program.js').Segment} Segment */
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
function* playSteps(built, steps, run) {
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
function* elementAt({ host, plan }, { value, offset, input }, { inputs }, dtype) {
  if (value !== undefined) {
    const [words] = yield [value];
    return Number(words?.[0]);
  }
  if (offset !== undefined) return firstOf(dtype, host.take(offset, dtype, 1));
  const given = inputs[Number(input)];
  const { name, dtype: own } = at(plan.inputs, Number(input));
  if (!given || !ArrayBuffer.isView(given))
    throw new TypeError(`input ${JSON.stringify(name)} decides which steps run: give a typed array`);
  return firstOf(own, given);
}

/**
 * The first element of those of `dtype` whose bytes `view` holds, aligned or not.
 * @param {string} dtype
 * @param {ArrayBufferView} view
 */
function firstOf(dtype, { buffer, byteOffset }) {
  const bytes = copyOf(new Uint8Array(buffer, byteOffset, elementOf(dtype).bytes));
  return Number(typedArray(dtype, bytes.buffer)[0]);
}

/**
 * The sets of values that steps read from the device at once.
 * @param {Program} program
 * @param {readonly Step[]} steps
 * @returns {number[][]}
 */
function readsOf(program, steps) {
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
 * Prepares the execution of pending launches and the reads of values, of which each set is known ahead.
 * @param {import('./device_program.js').Device} device
 * @param {Program} program
 * @returns {Pick<Built, 'pending' | 'flush'>}
 */
function prepare(device, program) {
  /** @type {Started[]} */
  const pending = [];
  /** @type {import('./device_program.js').Play} */
  const play = (launch) => {
    for (const { number, scalars } of pending) launch(number, scalars);
  };
  /** @type {Map<string, Segment>} */
  const segments = new Map();
  for (const values of [...readsOf(program, program.steps ?? []), heldBy(program), []]) {
    const key = values.join();
    if (!segments.has(key)) segments.set(key, device.segment(play, values));
  }
  return {
    pending,
    flush: (values, lengths) => /** @type {Segment} */ (segments.get(values.join()))(values.length > 0, lengths),
  };
}

/**
 * The outputs that are on the device.
 * @param {Program} program
 */
const heldBy = ({ outputs }) => outputs.filter((value) => value >= 0);

/**
 * @param {Built} built
 * @param {Run} run
 * @param {(reads: number[]) => Promise<Words[]>} flush carries out what is pending, and reads values
 */
async function carryOutSteps(built, run, flush) {
  const { pending } = run;
  pending.length = 0; // what a run that failed has left
  const going = playSteps(built, built.program.steps ?? [], run);
  for (let next = going.next(); !next.done; ) {
    const arrays = await flush(next.value);
    pending.length = 0;
    next = going.next(arrays);
  }
}

/**
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions
 * @param {boolean} download else outputs stay on the device
 * @returns {Promise<Output[]>}
 */
async function carryOut(now, inputs, sizes, download) {
  const { program, plan, device, pending, flush } = now;
  const scalars = [...sizes];
  await carryOutSteps(now, { scalars, inputs, pending }, flush);
  checkRefusals(plan.refusals, scalars);
  const layouts = plan.outputs.map(({ dtype, shape: whole }) => {
    const shape = shapeOf(whole, scalars);
    return {
      dtype,
      shape: varies(whole) ? shape : undefined,
      length: lengthOf(shape),
      runs: runsOf(extentsOf(whole), shape),
    };
  });
  const lengths = layouts.map(({ runs }) => reachOf(runs)).filter((_, i) => at(program.outputs, i) >= 0);
  const left = (await flush(download ? heldBy(program) : [], download ? lengths : [])).values();
  pending.length = 0;
  return layouts.map(({ dtype, shape, length, runs }, i) => {
    const value = at(program.outputs, i);
    if (!download) return Object.assign(device.take(value, runs), shape && { shape });
    const array = value >= 0 ? held(now, value, left.next().value, length, runs) : computed(now, i, length, runs);
    return Object.assign(value >= 0 ? narrow(dtype, /** @type {Words} */ (array)) : array, shape && { shape });
  });
}

/** @typedef {import('./device_program.js').Runs} Runs */

/** @type {(now: Built, value: number, whole: any, length: number, runs: Runs) => Words} */
function held({ program }, value, whole, length, runs) {
  const dense = words(storageOf(program, value).dtype, length);
  for (const { dense: to, spaced, length } of runs) dense.set(whole.subarray(spaced, spaced + length), to);
  return dense;
}

/** @type {(now: Built, i: number, length: number, runs: Runs) => import('../model.js').TypedArray} */
function computed({ host, plan, program }, i, length, runs) {
  const { dtype } = /** @type {import('../values/sizes.js').Spec} */ (plan.outputs[i]);
  const { buffer } = new Uint8Array(host.take(at(program.host?.outputs ?? [], i), dtype, reachOf(runs)));
  const whole = /** @type {any} */ (typedArray(dtype, buffer));
  const dense = typedArray(dtype, new ArrayBuffer(length * whole.BYTES_PER_ELEMENT));
  for (const { dense: to, spaced, length } of runs) dense.set(whole.subarray(spaced, spaced + length), to);
  return dense;
}

/**
 * The time of each launch in a run, the mean of so many, and of each call of the host.
 * @param {Built} now
 * @param {readonly Input[]} inputs
 * @param {readonly number[]} sizes the scalars of dimensions
 * @param {number} repeat
 * @returns {Promise<KernelTime[]>}
 */
async function profile(now, inputs, sizes, repeat) {
  const { device, program, pending, flush } = now;
  /** @type {(step: { name: string, nodes: string[], ops: string[] }) => KernelTime} */
  const none = ({ name, nodes, ops }) => ({ name, nodes, ops, ms: 0, clock: 'wall', count: 0 });
  const times = program.launches.map((launch) => {
    const { flops, bytes } = at(program.kernels, launch.kernel);
    return { ...none(launch), flops, bytes };
  });
  const calls = program.calls.map(none);
  const measure = async () => {
    const order = [...pending];
    const { ms, clock } = await device.time(order, repeat);
    order.forEach(({ number }, k) => {
      const time = at(times, number);
      Object.assign(time, { ms: time.ms + at(ms, k) / repeat, clock, count: time.count + 1 });
    });
    pending.length = 0;
  };
  const onCall = (/** @type {number} */ call, /** @type {number} */ ms) => {
    const time = at(calls, call);
    Object.assign(time, { ms: time.ms + ms, count: time.count + 1 });
  };
  await carryOutSteps(now, { scalars: [...sizes], inputs, pending, onCall }, async (reads) => {
    await measure();
    return flush(reads);
  });
  await measure();
  return [...times.slice(program.prepared), ...calls];
}

export const stepping = { prepare, carryOut, profile };
