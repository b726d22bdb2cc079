// Copies of what a caller passes, whose arrays are the caller's again.
import { kindOf } from './check_names.js';

/**
 * Inputs of a run with copies of their arrays, which are the caller's again.
 * @param {any} values
 */
export function copied(values) {
  const copy = (/** @type {any} */ one) => (ArrayBuffer.isView(one) && 'slice' in one ? copyOfArray(one) : one);
  if (kindOf(values) !== 'an object') return values;
  return Object.fromEntries(
    Object.entries(values).map(([name, one]) => [
      name,
      kindOf(one) === 'an object' && 'data' in one ? { ...one, data: copy(one.data) } : copy(one),
    ]),
  );
}

/** @param {any} array that may have a shape */
export const copyOfArray = (array) => Object.assign(array.slice(), array.shape && { shape: array.shape });
