// Whether what the caller hands to `run` fits the model; every message says what was expected.
import { elementOf, lengthOf } from './dtypes.js';

/** @typedef {import('./model.js').TypedArray} TypedArray */
/** @typedef {import('./model.js').TensorInfo} TensorInfo */

/** @param {TensorInfo} spec */
const describe = ({ dtype, shape }) => {
  const arrays = elementOf(dtype).arrays.filter((array) => array in globalThis);
  return `a ${arrays.join(' or ')} of length ${lengthOf(shape)} (${dtype}, shape [${shape.join(', ')}])`;
};

/** @param {unknown} value */
const kindOf = (value) => {
  if (ArrayBuffer.isView(value)) return Object.prototype.toString.call(value).slice(8, -1);
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a plain array' : typeof value === 'object' ? 'an object' : typeof value;
};

/**
 * The arrays in the order of the model's inputs.
 * @param {readonly TensorInfo[]} specs
 * @param {unknown} inputs
 * @returns {TypedArray[]}
 * @throws {TypeError} a missing or unknown name, another kind of array
 * @throws {RangeError} another length
 */
export function checkInputs(specs, inputs) {
  const list = specs.map((spec) => `${JSON.stringify(spec.name)}: ${describe(spec)}`).join('; ') || 'none';
  if (typeof inputs !== 'object' || inputs === null || ArrayBuffer.isView(inputs)) {
    throw new TypeError(
      `run expects one object with an array for each input name, got ${kindOf(inputs)}; inputs: ${list}`,
    );
  }
  const known = new Set(specs.map((spec) => spec.name));
  for (const name of Object.keys(inputs)) {
    if (!known.has(name)) throw new TypeError(`the model has no input ${JSON.stringify(name)}; inputs: ${list}`);
  }
  return specs.map((spec) => {
    const name = JSON.stringify(spec.name);
    if (!Object.hasOwn(inputs, spec.name)) throw new TypeError(`input ${name} is missing; expected ${describe(spec)}`);
    const value = /** @type {Record<string, TypedArray>} */ (inputs)[spec.name];
    const kind = kindOf(value);
    if (!value || !elementOf(spec.dtype).arrays.includes(kind)) {
      throw new TypeError(`input ${name}: expected ${describe(spec)}, got ${kind}`);
    }
    if (value.length !== lengthOf(spec.shape)) {
      throw new RangeError(`input ${name}: expected ${describe(spec)}, got length ${value.length}`);
    }
    return value;
  });
}
