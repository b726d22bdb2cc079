// Steps of a decoder, compared by the states that they leave, and by the logits that wasm has of them.

import { largestDifference, numbersOf } from '../values/compare_results.js';
import { COARSE, CONDITION, compareOutputs, isWrong, MEANS } from './compare_outputs.js';
import { judgeToken, movedBy, scaleOf } from './judge_token.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('./judge_token.js').Choosing} Choosing */

const OF_TOKENS = new Set(['token', 'logprob', 'top_ids', 'top_logprobs']);
const SEEN = 'sampling.seen';

/**
 * How far outputs and states of a step are from those that are wanted, and the most that is allowed; of what a token says, by how
 * much the logits of wasm would have to be moved.
 * @param {Manifest} manifest with the logits of `generate`
 * @param {Record<string, any>} inputs of the step
 * @param {Record<string, any>} given by the GPU: outputs, and the states that it has left
 * @param {Record<string, any>} wanted those of wasm, and its logits
 * @param {() => Promise<Record<string, any>>} rerun such as wanted, of inputs with other last digits
 * @returns {Promise<import('./compare_outputs.js').Apart[]>}
 */
export async function compareSteps(manifest, inputs, given, wanted, rerun) {
  const { outputs, states = [], tolerance = COARSE, generate } = manifest;
  const { name, dtype } = /** @type {{ logits: Manifest['outputs'][number] }} */ (generate).logits;
  const logitsOf = (/** @type {Record<string, any>} */ results) => numbersOf(results[name], dtype);
  /** @type {Promise<Record<string, any>> | undefined} */
  let near;
  const once = () => {
    near ??= rerun();
    return near;
  };
  const others = outputs.filter(({ name }) => !OF_TOKENS.has(name));
  const left = states.map(({ name, dtype }) => ({ name, dtype, kind: 'state' }));
  const compared = await compareOutputs([...others, ...left], tolerance, given, wanted, once, difference);
  const logits = logitsOf(wanted);
  const [token = Number.NaN] = numbersOf(given.token);
  const [logprob = Number.NaN] = numbersOf(given.logprob);
  const logprobs = numbersOf(given.top_logprobs);
  const top = numbersOf(given.top_ids).map((token, i) => ({ token, logprob: Number(logprobs[i]) }));
  const choosing = choosingOf(manifest, inputs, wanted[SEEN]);
  const judged = judgeToken({ token, logprob, top }, logits, choosing);
  const tokens = judged.map((one) => ({ ...one, most: tolerance, of: 'logit' }));
  if (tokens.some(isWrong)) {
    const times = tolerance < COARSE ? CONDITION : MEANS;
    const moved = (times * movedBy(logitsOf(await once()), logits)) / scaleOf(logits);
    for (const one of tokens) one.most = Math.max(tolerance, moved);
  }
  return [...compared, ...tokens];
}

/** @type {(manifest: Manifest, inputs: Record<string, any>, seen: ArrayLike<number>) => Choosing} */
function choosingOf(manifest, inputs, seen) {
  const of = (/** @type {string} */ role) => {
    const { name } = /** @type {Manifest['inputs'][number]} */ (
      manifest.inputs.find(({ sampling }) => sampling === role)
    );
    return numbersOf(inputs[name]?.data ?? inputs[name]).map(Number);
  };
  const [temperature, topP, minP, repetitionPenalty] = /** @type {[number, number, number, number]} */ (of('options'));
  const [topK, seed, position] = /** @type {[number, number, number]} */ (of('counts'));
  const is = (/** @type {string} */ role) => of(role)[0] === 1;
  return {
    temperature: is('draws') ? temperature : 0,
    topK: is('byCount') ? Math.max(topK, 1) : 0,
    topP: is('byMass') ? topP : 1,
    ...{ minP, repetitionPenalty, seed, position, seen },
  };
}

/**
 * The largest difference of one output or state. Numbers of float32, as large states have them, are not copied.
 * @type {typeof largestDifference}
 */
function difference(outputs, expected, specs, least) {
  const [{ name }] = /** @type {[{ name: string }]} */ (/** @type {unknown} */ (specs));
  const [got, wanted] = /** @type {any[]} */ ([outputs[name], expected[name]]);
  if (!(got instanceof Float32Array && wanted instanceof Float32Array && got.length === wanted.length))
    return largestDifference(outputs, expected, specs, least);
  let [scale, most] = [0, 0];
  for (let i = 0; i < wanted.length; i++) {
    const want = Number(wanted[i]);
    if (Number.isFinite(want)) scale = Math.max(scale, Math.abs(want));
    if (!Object.is(got[i], want)) most = Math.max(most, Math.abs(Number(got[i]) - want)); // NaN stays
  }
  return Number.isNaN(most) ? Number.POSITIVE_INFINITY : most / (scale || 1);
}
