// Answers in place of outputs: classes with their labels, boxes, masks and points in the picture that was given,
// vectors, text.

import { fetchJson } from '../fetch/fetch_file.js';
import { openStore } from '../fetch/keep_files.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { checkNames } from '../values/check_names.js';
import { axesOf, inside } from './frame.js';
import { maskOf } from './mask.js';

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

/** @type {Readonly<Record<string, (parts: Parts, label: (index: number) => string, spec: any, sizes: Sizes, labels: string[] | undefined) => unknown>>} */
const kinds = {
  classify: ({ scores, index }, label) =>
    Array.from(scores, (score, i) => ({ label: label(index[i]), score, index: index[i] })),
  detect({ boxes, scores, index }, label, { frame }, sizes) {
    const [across, down] = axesOf(frame, sizes?.[frame.input]);
    const count = scores.findIndex((/** @type {number} */ score) => !(score > 0));
    return Array.from(count < 0 ? scores : scores.subarray(0, count), (score, i) => {
      const [x, y, width, height] = boxes.subarray(4 * i, 4 * i + 4);
      const [left, right] = [inside(across, x), inside(across, x + width)];
      const [top, bottom] = [inside(down, y), inside(down, y + height)];
      const box = { x: left, y: top, width: right - left, height: bottom - top };
      return { label: label(index[i]), score, index: index[i], box };
    });
  },
  mask({ classes }, _, spec, sizes, labels) {
    const mask = maskOf(classes, spec, axesOf(spec.frame, sizes?.[spec.frame.input]));
    return labels ? { ...mask, labels } : mask;
  },
  keypoints({ points }, label, { frame }, sizes) {
    const [across, down] = axesOf(frame, sizes?.[frame.input]);
    return Array.from({ length: points.length / 3 }, (_, index) => {
      const [x, y, score] = points.subarray(3 * index, 3 * index + 3);
      return { label: label(index), score, index, x: inside(across, x), y: inside(down, y) };
    });
  },
  embedding: ({ vector }) => vector,
  text: ({ ids }, _, { blank, special, decode }) => {
    const kept = Array.from(ids, Number);
    const spoken = kept.filter((id, i) => id !== blank && id !== kept[i - 1]);
    return decode(blank === undefined ? kept : spoken, special);
  },
};

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
