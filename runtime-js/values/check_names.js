// Checks arguments by name: a plain object, with expected names alone.

import { elementOf, tagOf } from './dtypes.js';

/** @param {unknown} value */
export const kindOf = (value) => {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  return Array.isArray(value) ? 'a plain array' : tagOf(value) === 'Object' ? 'an object' : tagOf(value);
};

/**
 * Any value for a message: String throws where an object has no prototype, JSON.stringify at a BigInt.
 * @param {unknown} value
 */
export const printed = (value) =>
  typeof value === 'function' ? 'a function' : Object(value) === value ? 'an object' : String(value);

/**
 * @param {string} what the callee, for messages
 * @param {unknown} object
 * @param {readonly string[]} names
 * @param {string} [one]
 * @throws {TypeError}
 */
export function checkNames(what, object, names, one = 'option') {
  const kind = kindOf(object);
  if (kind !== 'an object') throw new TypeError(`${what} expects an object of ${one}s, got ${kind}`);
  for (const name of Object.keys(/** @type {object} */ (object))) {
    if (!names.includes(name))
      throw new TypeError(`${what} has no ${one} ${JSON.stringify(name)}; it has: ${names.join(', ') || 'none'}`);
  }
}

/**
 * The arrays of a dtype that there are here, for messages.
 * @param {string} dtype
 */
export function arraysOf(dtype) {
  const names = elementOf(dtype).arrays.filter((name) => name in globalThis);
  return `${/^I/.test(String(names)) ? 'an' : 'a'} ${names.join(' or ')}`;
}
