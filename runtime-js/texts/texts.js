// Text in place of the inputs of tokens: their ids, which of them are no padding, of which text of a pair, and their places.

import { kindOf } from '../values/check_names.js';
import { elementOf, lengthOf, typedArray } from '../values/dtypes.js';

/** @typedef {import('../values/sizes.js').Spec} Spec */
/** @typedef {import('../values/sizes.js').Dimension} Dimension */
/** @typedef {import('./tokenizers.js').Tokenizer} Tokenizer */
/** @typedef {[part: number | string, type: number][]} Template ids, and 'A' and 'B' for the tokens of the first text and the second */
/**
 * @typedef {object} TextSpec
 * @property {string} name under which a run takes it
 * @property {number} tokenizer its number
 * @property {number | string | null} batch a size, or the name of a dimension; null without a batch
 * @property {number | string} length the same, of tokens
 * @property {number} most tokens of a text, with those of its template
 * @property {Template} single
 * @property {Template} pair
 * @property {{ left: boolean, strategy: string }} cut at which end, and of which texts of a pair
 * @property {{ id: number, type: number, left: boolean }} padding
 */
/** @typedef {{ id: number, type: number }[]} Tokens */

const EXPECTED = 'expected a string, or an array of strings and of pairs [text, other]';

/**
 * A run with tokens in place of text; what is no text, and inputs of tokens, are left to others.
 * @template T
 * @param {TextSpec} spec
 * @param {readonly Spec[]} specs
 * @param {any} inputs
 * @param {(inputs: any) => Promise<T>} run
 * @param {readonly Dimension[]} dimensions
 * @param {readonly Tokenizer[]} tokenizers
 * @returns {Promise<T>}
 * @throws {TypeError} what is no text
 * @throws {RangeError} another number of texts than the model takes
 */
async function using(spec, specs, inputs, run, dimensions, tokenizers) {
  if (kindOf(inputs) !== 'an object') return run(inputs);
  const filled = specs.filter(({ text }) => text);
  const { [spec.name]: given, ...others } = inputs;
  const names = filled.map(({ name }) => name);
  const label = `input ${JSON.stringify(spec.name)}`;
  const own = names.includes(spec.name);
  const kind = kindOf(given);
  if (own && kind !== 'string' && kind !== 'a plain array') return run(inputs);
  if (!Object.hasOwn(inputs, spec.name)) {
    if (names.some((name) => Object.hasOwn(inputs, name))) return run(inputs);
    throw new TypeError(`${label} is missing: ${EXPECTED}, or arrays of its tokens: ${names.join(', ')}`);
  }
  const twice = names.find((name) => Object.hasOwn(others, name));
  if (twice) throw new TypeError(`${label} fills ${names.join(', ')}: leave ${JSON.stringify(twice)} out`);
  const tokenizer = /** @type {Tokenizer} */ (tokenizers[spec.tokenizer]);
  const rows = textsOf(label, kind, given).map((texts) => tokensOf(label, spec, texts, tokenizer));
  const batch = rangeOf(spec.batch ?? 1, dimensions);
  if (rows.length < batch.least || rows.length > batch.most || rows.length % batch.multiple)
    throw new RangeError(`${label}: expected ${shownRange(batch)} texts, got ${rows.length}`);
  const { least, multiple } = rangeOf(spec.length, dimensions);
  const count = Math.max(...rows.map((row) => row.length));
  const length = Math.max(least, Math.ceil(count / multiple) * multiple);
  const shape = spec.batch === null ? [length] : [rows.length, length];
  for (const { name, dtype, text = '' } of filled) {
    const data = typedArray(dtype, new ArrayBuffer(lengthOf(shape) * elementOf(dtype).bytes));
    rows.forEach((row, i) => {
      fill(data, i * length, length, row, text, spec.padding);
    });
    others[name] = { data, shape };
  }
  return run(others);
}

/**
 * @param {import('../model.js').TypedArray} data
 * @param {number} at where the row begins
 * @param {number} length of the row
 * @param {Tokens} row
 * @param {string} role
 * @param {TextSpec['padding']} padding
 */
function fill(data, at, length, row, role, padding) {
  const element = data instanceof BigInt64Array ? BigInt : Number;
  const begin = padding.left ? length - row.length : 0;
  for (let i = 0; i < length; i++) {
    const token = row[i - begin];
    const { id, type } = token ?? padding;
    // Behind the last token its place is repeated.
    const place = Math.min(Math.max(i - begin, 0), Math.max(row.length - 1, 0));
    data[at + i] = element({ ids: id, mask: token ? 1 : 0, types: type, positions: place }[role] ?? 0);
  }
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {any} given
 * @returns {string[][]} each of one text or of two
 */
function textsOf(label, kind, given) {
  if (kind === 'string') return [[given]];
  if (kind !== 'a plain array' || !given.length) throw new TypeError(`${label}: ${EXPECTED}, got ${kind}`);
  return given.map((/** @type {unknown} */ one, /** @type {number} */ i) => {
    const texts = typeof one === 'string' ? [one] : one;
    if (!Array.isArray(texts) || texts.length > 2 || !texts.length || texts.some((text) => typeof text !== 'string'))
      throw new TypeError(`${label}: ${EXPECTED}, got ${kindOf(one)} at ${i}`);
    return texts;
  });
}

/**
 * @param {string} label
 * @param {TextSpec} spec
 * @param {string[]} texts
 * @param {Tokenizer} tokenizer
 * @returns {Tokens}
 */
function tokensOf(label, { most, single, pair, cut }, texts, tokenizer) {
  const [a = [], b] = texts.map((text) => tokenizer.encode(text));
  const template = b ? pair : single;
  const room = most - template.filter(([part]) => typeof part === 'number').length;
  const [first, second] = lengths(a.length, b?.length, Math.max(room, 0), cut.strategy, label);
  /** @param {number[]} ids @param {number} count */
  const kept = (ids, count) => (cut.left ? ids.slice(ids.length - count) : ids.slice(0, count));
  /** @type {Record<string, number[]>} */
  const parts = { A: kept(a, first), B: kept(b ?? [], second) };
  return template.flatMap(([part, type]) =>
    (typeof part === 'number' ? [part] : (parts[part] ?? [])).map((id) => ({ id, type })),
  );
}

/**
 * How many tokens of one text, or of two, fit into `room`.
 * @param {number} a
 * @param {number | undefined} b
 * @param {number} room
 * @param {string} strategy
 * @param {string} label
 * @returns {[number, number]}
 */
function lengths(a, b, room, strategy, label) {
  if (b === undefined) return [Math.min(a, room), 0];
  if (a + b <= room) return [a, b];
  if (strategy === 'LongestFirst') {
    // The shorter one stays whole where it takes less than half of the room.
    const short = Math.min(a, b, Math.floor(room / 2));
    const long = room - short;
    return a > b ? [long, short] : [short, long];
  }
  const [cut, other] = strategy === 'OnlyFirst' ? [a, b] : [b, a];
  if (other >= room || cut === 0)
    throw new RangeError(`${label}: one text of the pair alone has ${other} tokens, and both have room for ${room}`);
  return strategy === 'OnlyFirst' ? [room - b, b] : [a, room - a];
}

/**
 * @param {number | string} size
 * @param {readonly Dimension[]} dimensions
 * @returns {{ least: number, most: number, multiple: number }}
 */
const rangeOf = (size, dimensions) =>
  typeof size === 'number'
    ? { least: size, most: size, multiple: 1 }
    : /** @type {Dimension} */ (dimensions.find(({ name }) => name === size));

/** @param {{ least: number, most: number, multiple: number }} range */
const shownRange = ({ least, most, multiple }) =>
  `${least}${most > least ? ` to ${most}` : ''}${multiple > 1 ? `, a multiple of ${multiple},` : ''}`;

export const texts = { using };
