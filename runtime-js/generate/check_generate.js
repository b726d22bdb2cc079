// The options of `generate`.

import { checkNames, kindOf } from '../values/check_names.js';
import { checkNumber, NAMES, samplingInputs } from './sampling.js';

/**
 * @typedef {object} Checked
 * @property {readonly number[]} ids the prompt
 * @property {Record<string, any>} arrays inputs of each run but its tokens
 * @property {boolean} ahead whether a step may be begun before the caller has the token of the one before: inputs of the
 *   caller's own may be others by then
 * @property {boolean} asText
 * @property {ReadonlySet<number>} stops tokens that end it
 * @property {readonly string[]} strings that do so
 * @property {number} maxTokens
 * @property {AbortSignal | undefined} signal
 * @property {boolean} resume
 * @property {boolean} logprobs
 */

const OPTIONS = ['ids', 'maxTokens', ...NAMES, 'stop', 'end', 'signal', 'resume', 'inputs', 'logprobs'];
// <chat>
OPTIONS.push('messages');
// </chat>
const ANY = { least: 0, most: Number.MAX_SAFE_INTEGER, whole: true };

/**
 * @param {import('../model.js').GenerateOptions} options
 * @param {Pick<import('../load/load.js').Manifest, 'inputs' | 'generate'>} manifest
 * @param {import('./generate.js').Texting | undefined} texting
 * @returns {Checked}
 * @throws {TypeError} another kind of value, or an option that is none
 * @throws {RangeError} what is no token, or out of range
 */
export function checkGenerate(options, { inputs, generate: spec }, texting) {
  checkNames('generate', options, texting ? ['text', ...OPTIONS] : OPTIONS);
  // <chat>
  if (options.messages !== undefined) {
    if (!texting?.ofMessages) throw new TypeError('messages: the model has no chat template: give text or ids');
    const [given, own] = texting.ofMessages(options, texting);
    return checkGenerate(given, { inputs, generate: spec }, own);
  }
  // </chat>
  const { text, ids = [], maxTokens = Number.POSITIVE_INFINITY, stop = [], end = spec?.end ?? [] } = options;
  const { signal, resume = false, inputs: others = {}, logprobs = false } = options;
  if (kindOf(others) !== 'an object')
    throw new TypeError(`inputs: expected an object of arrays, got ${kindOf(others)}`);
  for (const [name, value] of Object.entries({ resume, logprobs }))
    if (typeof value !== 'boolean') throw new TypeError(`${name}: expected true or false, got ${kindOf(value)}`);
  if (maxTokens !== Number.POSITIVE_INFINITY) checkNumber('maxTokens', maxTokens, ANY);
  if (signal !== undefined && kindOf(signal) !== 'AbortSignal')
    throw new TypeError(`signal: expected an AbortSignal, got ${kindOf(signal)}`);
  const asText = texting !== undefined && text !== undefined;
  if (asText && typeof text !== 'string') throw new TypeError(`text: expected a string, got ${kindOf(text)}`);
  if (asText && (options.ids || logprobs))
    throw new TypeError('text: leave ids and logprobs out: pieces of text are no tokens');
  const { strings, tokens } = stopsOf(stop, asText);
  const stops = new Set([...tokens, ...idsOf('end', end)]);
  const prompt = asText
    ? texting.encode(texting.spec, texting.tokenizer, text, !resume)
    : idsOf('ids', ids, spec?.vocabulary);
  if (!resume && !prompt.length) throw new RangeError('ids: give one token at least');
  const arrays = { ...others, ...samplingInputs(inputs, options) };
  const ahead = !Object.keys(others).length;
  return { ids: prompt, arrays, ahead, asText, stops, strings, maxTokens, signal, resume, logprobs };
}

/**
 * @param {any} stop
 * @param {boolean} asText
 * @returns {{ strings: string[], tokens: readonly number[] }}
 */
function stopsOf(stop, asText) {
  const mixed = asText && kindOf(stop) === 'a plain array' ? stop : [];
  const strings = mixed.filter((/** @type {unknown} */ one) => typeof one === 'string');
  if (strings.includes('')) throw new RangeError('stop: a string of it is empty');
  const tokens = strings.length ? mixed.filter((/** @type {unknown} */ one) => typeof one !== 'string') : stop;
  return { strings, tokens: idsOf('stop', tokens) };
}

/**
 * @param {string} name
 * @param {any} given an array or typed array of tokens
 * @param {number} [vocabulary]
 * @returns {number[]}
 */
function idsOf(name, given, vocabulary = Number.POSITIVE_INFINITY) {
  const kind = kindOf(given);
  if (kind !== 'a plain array' && !ArrayBuffer.isView(given))
    throw new TypeError(`${name}: expected an array of tokens, got ${kind}`);
  const ids = Array.from(/** @type {Iterable<unknown>} */ (given), (id) => (typeof id === 'bigint' ? Number(id) : id));
  const wrong = ids.find((id) => !Number.isInteger(id) || Number(id) < 0 || Number(id) >= vocabulary);
  const known = Number.isFinite(vocabulary) ? `; the model has ${vocabulary}` : '';
  if (wrong !== undefined) throw new RangeError(`${name}: ${String(wrong)} is no token${known}`);
  return /** @type {number[]} */ (ids);
}
