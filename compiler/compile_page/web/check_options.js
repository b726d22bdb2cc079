// The options of a call, checked before anything is started.

import { CompileError } from './compile_error.js';

const TARGETS = ['webgpu', 'webgl'];

/** @typedef {(value: any) => boolean} Test */

const isSize = (/** @type {any} */ n) => Number.isSafeInteger(n) && n >= 0;
const isExtent = (/** @type {any} */ n) => isSize(n) || (typeof n === 'string' && n !== '');
const isDim = (/** @type {any} */ v) =>
  isSize(v) || (Array.isArray(v) && (v.length === 2 || v.length === 3) && v.every(isSize));
const isShape = (/** @type {any} */ shape) =>
  (Array.isArray(shape) || ArrayBuffer.isView(shape)) && sizes(shape).every(isExtent);
const isFunction = (/** @type {any} */ value) => typeof value === 'function';
const isText = (/** @type {any} */ value) => typeof value === 'string';
const isTexts = (/** @type {any} */ v) => Array.isArray(v) && v.every(isText);
/** Timers of browsers have milliseconds of 31 bits. */
const isSeconds = (/** @type {any} */ n) => typeof n === 'number' && n > 0 && 1000 * n < 2 ** 31;
const isPositive = (/** @type {any} */ n) => typeof n === 'number' && n > 0;
const isCount = (/** @type {any} */ n) => isPositive(n) && Number.isSafeInteger(n);
/** @param {any} shape */
const sizes = (shape) => Array.from(shape);
/** @param {any} value */
const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const isFormats = (/** @type {any} */ v) => isPlain(v) && Object.values(v).every((one) => isText(one) || isPlain(one));

/** @type {Record<string, [Test, string]>} what is right, and how it is said */
const OPTIONS = {
  shapes: [(v) => isPlain(v) && Object.values(v).every(isShape), 'sizes by input, such as { input: [1, 3, 224, 224] }'],
  dims: [
    (v) => isPlain(v) && Object.values(v).every(isDim),
    'sizes by name, or ranges, such as { batch: 1, length: [1, 512], width: [8, 512, 8] }',
  ],
  states: [isTexts, "pairs such as ['hidden=hidden_out'], or none: []"],
  given: [isTexts, "names of inputs, such as ['attention_mask']"],
  stateWindow: [isCount, 'a number of rows, above 0'],
  generate: [(v) => typeof v === 'boolean' || isText(v), "true, or a text such as 'top=5,logits=scores'"],
  pictures: [
    isFormats,
    'formats by input, such as { image: "imagenet" }, or { image: { like: "unit", colours: "bgr" } }',
  ],
  sounds: [isFormats, 'formats by input, such as { audio: "whisper" }'],
  answers: [isTexts, "a list such as ['classify,top=5']"],
  labels: [(v) => v instanceof File || (Array.isArray(v) && v.every(isText)), 'a File of labels, or a list of texts'],
  targets: [
    (v) => Array.isArray(v) && v.length > 0 && v.every((t) => TARGETS.includes(t)),
    "some of ['webgpu', 'webgl']",
  ],
  target: [(v) => TARGETS.includes(v), "'webgpu' or 'webgl'"],
  precision: [(v) => v === 'f32' || v === 'f16', "'f32' or 'f16'"],
  fastMath: [(v) => typeof v === 'boolean', 'true or false'],
  weights: [isText, "the form of weights, such as 'int8' or 'int4:block=32'"],
  records: [isText, 'the text of records, not a file of them'],
  maxSeconds: [isSeconds, 'seconds above 0, up to 24 days'],
  compileMemory: [(v) => isPositive(v) && Number.isSafeInteger(v), 'a whole number of bytes above 0'],
  seconds: [isPositive, 'a number above 0'],
  trials: [isCount, 'a whole number above 0'],
  signal: [(v) => v instanceof AbortSignal, 'an AbortSignal'],
  onProgress: [isFunction, 'a function'],
  onStatus: [isFunction, 'a function'],
};

/**
 * The options, those that are undefined left out.
 * @param {any} options
 * @param {string[]} allowed
 * @returns {any}
 * @throws {CompileError} for one that is unknown or cannot be
 */
export function checkOptions(options = {}, allowed) {
  if (!isPlain(options)) throw new CompileError('input', `options are an object with some of ${allowed.join(', ')}`);
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  for (const [name, value] of entries) {
    const rule = allowed.includes(name) ? OPTIONS[name] : undefined;
    if (!rule) throw new CompileError('input', `there is no option ${name}; choose from ${allowed.join(', ')}`);
    const [isRight, what] = rule;
    if (!isRight(value)) throw new CompileError('input', `the option ${name} must be ${what}`);
  }
  const checked = Object.fromEntries(entries);
  if (checked.shapes) {
    const shapes = Object.entries(checked.shapes).map(([name, shape]) => [name, sizes(shape)]);
    checked.shapes = Object.fromEntries(shapes);
  }
  return checked;
}
