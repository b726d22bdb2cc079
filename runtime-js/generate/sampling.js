// How the next token is chosen: the options, and the inputs of the model that have them.

import { checkNames, kindOf, printed } from '../values/check_names.js';

/** @typedef {import('../model.js').Sampling} Sampling */
/** @typedef {Record<string, import('../model.js').TypedArray>} Arrays by the names of inputs */

const [SMALLEST, LARGEST] = [2 ** -20, 2 ** 20];

/** @type {Record<keyof Sampling, { least: number, most: number, whole?: boolean, by: number }>} `by` default */
const RANGES = {
  temperature: { least: 0, most: Number.MAX_VALUE, by: 0 },
  topK: { least: 0, most: 2 ** 31 - 1, whole: true, by: 0 },
  topP: { least: 0, most: 1, by: 1 },
  minP: { least: 0, most: 1, by: 0 },
  repetitionPenalty: { least: SMALLEST, most: LARGEST, by: 1 },
  seed: { least: 0, most: 2 ** 32 - 1, whole: true, by: 0 },
};

export const NAMES = Object.keys(RANGES);

/**
 * @param {string} name
 * @param {unknown} value
 * @param {{ least: number, most: number, whole?: boolean }} range
 * @throws {TypeError} no number
 * @throws {RangeError} one that is out of range
 */
export function checkNumber(name, value, { least, most, whole = false }) {
  const kind = whole ? 'a whole number' : 'a number';
  const range = most >= Number.MAX_SAFE_INTEGER ? `from ${least}` : `from ${least} to ${most}`;
  if (typeof value !== 'number') throw new TypeError(`${name}: expected ${kind} ${range}, got ${kindOf(value)}`);
  if (!(value >= least && value <= most && (!whole || Number.isInteger(value))))
    throw new RangeError(`${name}: expected ${kind} ${range}, got ${printed(value)}`);
}

/**
 * The inputs of runs that choose by these options, but for the position, which is the last number of `counts`.
 * @param {readonly import('../values/sizes.js').Spec[]} specs
 * @param {Sampling} options others are left to others
 * @returns {Arrays}
 */
export function samplingInputs(specs, options) {
  const of = (/** @type {keyof Sampling} */ name) => {
    const { [name]: value = RANGES[name].by } = options;
    checkNumber(name, value, RANGES[name]);
    return value;
  };
  const flag = (/** @type {boolean} */ is) => Uint8Array.of(Number(is));
  const [temperature, topK, topP] = [of('temperature'), of('topK'), of('topP')];
  /** @type {Record<string, import('../model.js').TypedArray>} */
  const roles = {
    options: Float32Array.of(temperature, topP, of('minP'), of('repetitionPenalty')),
    counts: Int32Array.of(topK, of('seed'), 0),
    draws: flag(Math.fround(temperature) > 0),
    byCount: flag(topK > 0),
    byMass: flag(Math.fround(topP) < 1),
  };
  return Object.fromEntries(
    specs.flatMap(({ name, sampling }) => (sampling ? [[name, /** @type {any} */ (roles[sampling])]] : [])),
  );
}

/**
 * A session that completes what its runs are given by options of sampling.
 * @param {Pick<import('../load/load.js').Manifest, 'inputs' | 'generate'>} manifest
 * @param {Sampling} sampling
 * @param {import('../load/sessions.js').Own} own
 * @returns {import('../load/sessions.js').Own}
 */
export function sampled({ inputs: specs, generate }, sampling, own) {
  checkNames('sampling', sampling, NAMES);
  const arrays = samplingInputs(specs, sampling);
  const ids = String(generate?.ids);
  /** @type {import('../load/sessions.js').Complete} */
  const complete = (given, position) => {
    if (kindOf(given) !== 'an object') return given;
    const tokens = given[ids]?.data ?? given[ids];
    setPosition(specs, arrays, position + (tokens?.length ?? 0));
    return { ...arrays, ...given };
  };
  return { ...own, begin: (values, start, signal) => own.begin(values, start, signal, complete) };
}

/**
 * @param {readonly import('../values/sizes.js').Spec[]} specs
 * @param {Record<string, any>} arrays
 * @param {number} position that of the token
 */
export function setPosition(specs, arrays, position) {
  const { name } = /** @type {{ name: string }} */ (specs.find(({ sampling }) => sampling === 'counts'));
  /** @type {Int32Array} */ (arrays[name])[2] = position;
}
