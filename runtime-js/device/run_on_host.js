// Launches of kernels that the GPU computes wrongly, carried out by references on the host: what they read comes back from the GPU,
// and their results go there.
import { toHalf } from '../values/convert.js';
import { numbersIn, saturated } from '../values/halves.js';
import { at, storageOf, valueAt } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Device} Device */
/** @typedef {import('./device_program.js').Program} Program */
/** @typedef {import('./device_program.js').Started} Started */
/** @typedef {import('./reference_kernels.js').Reference} Reference */

/**
 * From now on the device leaves to the host the kernels that have a reference.
 * @param {Device} device on which no segment is prepared yet
 * @param {Program} program
 */
export function leaveToHost(device, program) {
  if (!program.kernels.some(({ reference }) => reference)) return;
  const { segment, session, time } = device;
  const read = /** @type {NonNullable<Device['readStorage']>} */ (device.readStorage);
  const inOrder = oneByOne();
  const none = segment([]);
  const referenceOf = (/** @type {Started} */ { number }) =>
    at(program.kernels, at(program.launches, number).kernel).reference;
  /** @type {(reference: Reference, started: Started) => Promise<void>} */
  const compute = async (reference, { number, scalars }) => {
    const { arguments: values } = at(program.launches, number);
    const types = values.map((value) => storageOf(program, value).dtype);
    /** @type {Words[]} */
    const contents = [];
    for (const value of values) contents.push(await read(valueAt(program, value).storage));
    const last = values.length - 1;
    const halves = at(types, last) === 'float16';
    const numbers = contents.map((content, i) => numbersIn(at(types, i), content));
    keep((halves ? saturating(reference) : reference).compute(numbers, scalars), at(contents, last), halves);
    device.write(at(values, last), at(contents, last));
  };
  device.segment = (reads) => {
    const own = segment(reads);
    return (launches, lengths) =>
      inOrder(async () => {
        let from = 0;
        for (const [i, started] of launches.entries()) {
          const reference = referenceOf(started);
          if (!reference) continue;
          if (i > from) await none(launches.slice(from, i));
          await compute(reference, started);
          from = i + 1;
        }
        return own(launches.slice(from), lengths);
      });
  };
  device.time = async (launches, repeat) => {
    const ms = [];
    for (const one of launches) {
      const reference = referenceOf(one);
      const began = performance.now();
      for (let i = 0; reference && i < repeat; i++) await compute(reference, one);
      ms.push(reference ? performance.now() - began : at((await time([one], repeat)).ms, 0));
    }
    return { ms, clock: 'wall' };
  };
  delete device.token; // a run that waits for the host is not launched ahead
  if (session)
    device.session = async () => {
      const other = await session();
      leaveToHost(other, program);
      return other;
    };
}

/**
 * Reference whose finite results are in the range of float16, as devices store them.
 * @type {(reference: Reference) => Reference}
 */
export const saturating = (reference) => ({
  ...reference,
  compute(...given) {
    const computed = reference.compute(...given);
    computed.result.forEach((x, i) => {
      computed.result[i] = saturated(x);
    });
    return computed;
  },
});

/**
 * Puts the reference's elements into the storage of a launch's result; what is padding there, or was not written, stays.
 * @param {import('./reference_kernels.js').Computed} computed
 * @param {Words} target
 * @param {boolean} halves
 */
export function keep({ result, at: elementAt, places }, target, halves) {
  for (let place = 0; place < places; place++) {
    const element = elementAt(place);
    if (element < 0) continue;
    const x = Number(result[element]);
    target[place] = halves ? toHalf(x) : x;
  }
}

/** Carries out tasks in the order in which they come; one that fails stops none of those behind it. */
export function oneByOne() {
  let last = Promise.resolve();
  /**
   * @template T
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   */
  return (task) => {
    const result = last.then(task);
    last = result.then(
      () => {},
      () => {},
    );
    return result;
  };
}
