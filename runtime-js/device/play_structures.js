// Steps that decide how a run goes on: loops, branches, scalars that are read.
import { copyOf, elementOf, typedArray } from '../values/dtypes.js';
import { evaluate } from '../values/sizes.js';
import { at } from './device_program.js';

/** @typedef {import('../values/convert.js').Words} Words */
/** @typedef {import('./device_program.js').Condition} Condition */
/** @typedef {import('./device_program.js').Structure} Structure */
/** @typedef {import('./play_steps.js').Run} Run */
/** @typedef {import('./play_steps.js').Wait} Wait */

/**
 * @param {Run} run
 * @param {Structure} step
 * @param {typeof import('./play_steps.js').playSteps} playSteps
 * @returns {Generator<Wait, void, Words[]>}
 */
export function* playStructure(run, step, playSteps) {
  const { scalars } = run;
  if ('scalar' in step) scalars[step.scalar] = yield* elementAt(run, step, 'int32');
  else if ('if' in step) yield* playSteps(run, (yield* elementAt(run, step.if, 'bool')) ? step.then : step.else);
  else {
    const trips = evaluate(step.trips, scalars);
    for (let t = 0; t < trips; t++) {
      if (step.until && !(yield* elementAt(run, step.until, 'bool'))) break;
      scalars[step.counter] = t;
      yield* playSteps(run, step.body);
    }
  }
}

/**
 * @param {Run} run
 * @param {Condition} place
 * @param {string} dtype
 * @returns {Generator<Wait, number, Words[]>}
 */
function* elementAt({ built: { host, plan }, inputs, scalars }, { value, offset, input, sizes }, dtype) {
  if (sizes !== undefined) return evaluate(sizes, scalars);
  if (value !== undefined) {
    const [words] = yield { reads: [value] };
    return Number(words?.[0]);
  }
  if (offset !== undefined && host) return firstOf(dtype, host.read(offset, dtype, 1));
  const array = inputs[Number(input)];
  const { name, dtype: own } = at(plan.inputs, Number(input));
  if (!array || !ArrayBuffer.isView(array))
    throw new TypeError(`input ${JSON.stringify(name)} decides which steps run: give a typed array`);
  return firstOf(own, array);
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
