// Answers in place of outputs: classes with their labels, boxes, masks and points in the picture that was given,
// vectors, text.

import { fetchJson } from '../fetch/fetch_file.js';
import { openStore } from '../fetch/keep_files.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { checkNames } from '../values/check_names.js';
import * as all from './kinds.js';

/** @typedef {import('../model.js').TypedArray} TypedArray */
/**
 * @typedef {object} AnswerSpec
 * @property {string} name under which a run returns it
 * @property {string} kind
 * @property {Record<string, number>} outputs numbers of the outputs that it is made of, by their parts in it
 * @property {{ url: string, bytes: number, sha256: string }} [labels] a file
 * @property {number | true} [many] it is a list, one for each of the first dimension of its only output; `true`: which varies
 * @property {number} [tokenizer] its number
 */
/** @typedef {Record<string, any>} Parts arrays by the parts of an answer */

/** @typedef {Record<string, readonly number[]> | undefined} Sizes of pictures by input, as axesOf takes them */
/** @typedef {(parts: Parts, label: (index: number) => string, spec: any, sizes: Sizes, labels: string[] | undefined) => unknown} Kind */

const kinds = /** @type {Readonly<Record<string, Kind>>} */ (all);

/**
 * The answer of one kind for each part of an array, of which the first dimension is `count`.
 * @param {TypedArray} array
 * @param {number} count
 * @param {(part: TypedArray) => unknown} answer
 */
const each = (array, count, answer) => {
  const length = count && array.length / count;
  return Array.from({ length: count }, (_, i) => answer(array.slice(i * length, (i + 1) * length)));
};

/**
 * The outputs, with answers in place of the first one that each is made of.
 * @template T
 * @param {readonly AnswerSpec[]} specs
 * @param {readonly T[]} outputs
 * @param {(spec: AnswerSpec) => T} answer
 */
function placed(specs, outputs, answer) {
  /** @type {Map<number, AnswerSpec>} by output */
  const owners = new Map(specs.flatMap((spec) => Object.values(spec.outputs).map((output) => [output, spec])));
  return outputs.flatMap((output, i) => {
    const spec = owners.get(i);
    if (!spec) return [output];
    return i === Math.min(...Object.values(spec.outputs)) ? [answer(spec)] : [];
  });
}

/**
 * @param {readonly AnswerSpec[]} specs
 * @param {readonly any[]} outputs
 * @returns {any}
 */
export const describeAnswers = (specs, outputs) =>
  placed(specs, outputs, ({ name, kind }) => Object.freeze({ name, answer: kind }));

/**
 * The answers of a model that starts.
 * @param {readonly AnswerSpec[]} specs
 * @param {{ signal: AbortSignal | undefined, timeout: number, cache?: string }} plan
 * @param {readonly import('../texts/tokenizers.js').Tokenizer[]} [tokenizers] of text
 */
function start(specs, plan, tokenizers = []) {
  /** @type {(string[] | undefined)[]} */
  let labels = [];
  const fetched = async () => {
    const downloads = watchDownloads({ ...plan, ...(plan.cache && { store: await openStore(plan.cache) }) });
    return Promise.all(specs.map((spec) => spec.labels && fetchJson(spec.labels, downloads)));
  };
  const files = fetched();
  files.catch(() => {}); // the model may fail to start before
  return {
    /** @param {{ dispose: () => void }} session ended where a file does not arrive */
    async ready(session) {
      try {
        labels = await files;
      } catch (error) {
        session.dispose();
        throw error;
      }
    },
    /** @param {readonly any[]} outputs */
    describe: (outputs) => describeAnswers(specs, outputs),
    /**
     * Whether the options of a run go with answers.
     * @param {import('../model.js').RunOptions} options
     * @param {readonly { name: string }[]} outputs
     * @throws {TypeError}
     */
    check({ output, into }, outputs) {
      if (output === 'gpu-buffer') throw new TypeError("output 'gpu-buffer': this model returns answers, not buffers");
      const taken = new Set(specs.flatMap((spec) => Object.values(spec.outputs)));
      const plain = outputs.filter((_, i) => !taken.has(i));
      if (into)
        checkNames(
          'into',
          into,
          plain.map(({ name }) => name),
          'array',
        );
    },
    /**
     * @param {[string, any][]} outputs
     * @param {Sizes} sizes
     * @returns {[string, any][]}
     */
    of: (outputs, sizes) =>
      placed(specs, outputs, (spec) => {
        const parts = Object.fromEntries(Object.entries(spec.outputs).map(([part, i]) => [part, outputs[i]?.[1]]));
        const names = labels[specs.indexOf(spec)];
        /** @param {Parts} own */
        const answer = (own) =>
          kinds[spec.kind]?.(own, (index) => names?.[index] ?? String(index), { ...spec, decode }, sizes, names);
        const decode = tokenizers[spec.tokenizer ?? 0]?.decode;
        if (!spec.many) return [spec.name, answer(parts)];
        const [[part, array] = ['', undefined]] = Object.entries(parts);
        const count = spec.many === true ? array.shape[0] : spec.many;
        return [spec.name, each(array, count, (one) => answer({ [part]: one }))];
      }),
  };
}

export const answers = { start };
