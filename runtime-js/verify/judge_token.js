// A token that a GPU has chosen, held against the logits of wasm: it may be any that these give if each of them is moved a
// little, as rounding does. compiler/generation/sample.py says how a token is chosen.

/**
 * @typedef {object} Choosing How a token is chosen.
 * @property {number} temperature
 * @property {number} topK 0: all
 * @property {number} topP
 * @property {number} minP
 * @property {number} repetitionPenalty
 * @property {number} seed
 * @property {number} position of the token
 * @property {ArrayLike<number>} seen not 0 for each token that occurred
 */
/**
 * @typedef {object} Chosen What a GPU says of a step.
 * @property {number} token
 * @property {number} logprob
 * @property {readonly { token: number, logprob: number }[]} top the likeliest tokens, the likeliest first
 */
/** @typedef {ArrayLike<number>} Logits of a vocabulary, as wasm computes them */

/** Probabilities below e to this power are 0 in float32: so small logits, as those of masks, are no measure of the others. */
const LEAST_LOG = -104;

/** Losses of float32 in logarithms, sums of probabilities and of Gumbel's numbers, absolute and relative. */
const ROUNDING = 1e-4;
const EPSILON = 1e-6;

/** Halvings of an interval, to four digits. */
const HALVINGS = 14;

/** The largest logit in absolute value, of tokens that have any probability; 1 where it is 0. @param {Logits} logits */
export function scaleOf(logits) {
  const largest = largestOf(logits);
  let scale = 0;
  for (let i = 0; i < logits.length; i++) {
    const x = Number(logits[i]);
    if (Number.isFinite(x) && x >= largest + LEAST_LOG) scale = Math.max(scale, Math.abs(x));
  }
  return scale || 1;
}

/** How far some logits are from others at most, of tokens that have any probability. @param {Logits} some @param {Logits} others */
export function movedBy(some, others) {
  const largest = largestOf(others);
  let most = 0;
  for (let i = 0; i < others.length; i++) {
    const apart = Math.abs(Number(some[i]) - Number(others[i]));
    if (Number(others[i]) >= largest + LEAST_LOG && Number.isFinite(apart)) most = Math.max(most, apart);
  }
  return most;
}

/**
 * By how much, relative to the largest logit, logits of wasm have to be moved for each output of a step: its name and the
 * distance, infinite where no logits near these give it.
 * @param {Chosen} chosen
 * @param {Logits} logits
 * @param {Choosing} choosing
 */
export function judgeToken({ token, logprob, top }, logits, choosing) {
  const scale = scaleOf(logits);
  const exact = Float64Array.from(logits);
  const logprobs = logProbabilities(logits);
  const isToken = (/** @type {number} */ id) => Number.isInteger(id) && id >= 0 && id < logits.length;
  // What moves each logit by one moves a logarithm of probability by two at most.
  const apart = (/** @type {number} */ got, /** @type {number} */ wanted) => {
    if (Object.is(got, wanted)) return 0;
    const distance = Math.abs(got - wanted) - ROUNDING / 10 - EPSILON * Math.abs(wanted);
    return Number.isFinite(distance) ? Math.max(0, distance) / (2 * scale) : Number.POSITIVE_INFINITY;
  };
  const isLost = Number.isNaN(logprobs[0]);
  const found = [
    { name: 'token', apart: isToken(token) ? 0 : Number.POSITIVE_INFINITY },
    { name: 'logprob', apart: isToken(token) ? apart(logprob, Number(logprobs[token])) : 0 },
  ];
  if (isToken(token) && !isLost)
    found.push({ name: 'token', apart: leastMove((d) => isPossible(token, exact, d * scale, choosing)) });
  const likeliest = top.length ? Float64Array.from(logprobs).sort().reverse() : [];
  top.forEach((one, i) => {
    const isNew = isToken(one.token) && top.findIndex(({ token }) => token === one.token) === i;
    found.push({
      name: 'top_ids',
      apart: isNew ? apart(one.logprob, Number(logprobs[one.token])) : Number.POSITIVE_INFINITY,
    });
    found.push({
      name: 'top_logprobs',
      apart: isLost ? apart(one.logprob, Number.NaN) : apart(one.logprob, Number(likeliest[i])),
    });
  });
  /** @type {Map<string, number>} */
  const worst = new Map();
  for (const { name, apart } of found) worst.set(name, Math.max(worst.get(name) ?? 0, apart));
  return Array.from(worst, ([name, apart]) => ({ name, apart }));
}

/** @param {Logits} logits */
function largestOf(logits) {
  let largest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) if (Number(logits[i]) > largest) largest = Number(logits[i]);
  return largest;
}

/** NaN where a logit is NaN or infinity, as of a compiled model. @param {Logits} logits */
function logProbabilities(logits) {
  const largest = largestOf(logits);
  const logs = Float64Array.from(logits, (x) => (x === largest ? 0 : Number(x) - largest));
  const mass = logs.reduce((sum, log) => sum + Math.exp(log), largest === Number.POSITIVE_INFINITY ? Number.NaN : 0);
  return logs.map((log) => log - Math.log(mass));
}

/**
 * The least number, up to the difference of two logits, for which it holds; infinity where that is none.
 * @param {(d: number) => boolean} holds where it does for a smaller number
 */
function leastMove(holds) {
  if (holds(0)) return 0;
  let [low, high] = [0, 2];
  if (!holds(high)) return Number.POSITIVE_INFINITY;
  // Small ones count by their digits.
  for (let i = 0; i < HALVINGS; i++) {
    const middle = low ? Math.sqrt(low * high) : high / 1024;
    if (holds(middle)) high = middle;
    else low = middle;
    if (high < EPSILON) return high;
  }
  return high;
}

/**
 * Whether a token may be chosen where each logit is moved by `d` at most. Where it is not certain that it cannot be, it may.
 * @param {number} token
 * @param {Float64Array} logits finite, or less than all others
 * @param {number} d
 * @param {Choosing} choosing
 */
function isPossible(token, logits, d, { temperature, topK, topP, minP, repetitionPenalty, seed, position, seen }) {
  const penalised = (/** @type {number} */ x, /** @type {number} */ i) =>
    !seen[i] || repetitionPenalty === 1 ? x : x > 0 ? x / repetitionPenalty : x * repetitionPenalty;
  const low = logits.map((x, i) => penalised(x - d, i));
  const high = logits.map((x, i) => penalised(x + d, i));
  const own = Number(high[token]) + EPSILON * Math.abs(Number(high[token]));
  const most = largestOf(low);
  if (!(temperature > 0)) return own >= most;
  const t = Math.min(Math.max(temperature, 1e-20), 1e20);
  const log = (/** @type {number} */ score) => (score - most) / t;

  // Of those before it in the order of scores there may be less than topK, and less mass than topP.
  let [mayStay, certain] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  if (topK > 0 && topK < logits.length) {
    mayStay = kthLargest(low, topK);
    certain = kthLargest(high, topK);
  }
  if (own < mayStay) return false;
  const leastLog = minP > 0 ? Math.min(Math.log(minP), 0) : Number.NEGATIVE_INFINITY;
  if (log(own) < leastLog - ROUNDING) return false;
  if (topP < 1) {
    let [before, others] = [0, 0];
    low.forEach((score, i) => {
      if (i !== token && score > own) before += Math.exp(log(score));
      else if (Number(high[i]) >= mayStay) others += Math.exp(log(Number(high[i])));
    });
    if (before >= (topP + ROUNDING) * (before + others)) return false;
  }

  const sum = log(own) + gumbel(token, seed, position) + ROUNDING;
  let rival = Number.NEGATIVE_INFINITY;
  low.forEach((score, i) => {
    if (i === token || score <= rival) return;
    const other = log(score);
    if (other + gumbel(i, seed, position) > sum + EPSILON * Math.abs(other)) rival = score;
  });
  // The largest of those that come before it in the draw is the one most certain to take part.
  if (rival === Number.NEGATIVE_INFINITY || rival < certain) return true;
  if ((rival - largestOf(high)) / t < leastLog + ROUNDING) return true;
  if (topP < 1) {
    let [before, others] = [0, 0];
    high.forEach((score, i) => {
      if (Number(low[i]) === rival) others += Math.exp(log(rival));
      else if (score > rival && score >= mayStay) before += Math.exp(log(score));
      else if (Number(low[i]) >= certain) others += Math.exp(log(Number(low[i])));
    });
    if (before >= (topP - ROUNDING) * (before + others)) return true;
  }
  return false;
}

/** @param {Float64Array} scores @param {number} k */
const kthLargest = (scores, k) => Number(scores.slice().sort()[scores.length - k]);

/**
 * A number of Gumbel's distribution for a token, of random bits by pcg3d.
 * @param {number} token
 * @param {number} seed
 * @param {number} position
 */
export function gumbel(token, seed, position) {
  let [x, y, z] = [token, seed, Math.imul(position, 2)].map((word) => (Math.imul(word, 1664525) + 1013904223) >>> 0);
  const mix = () => {
    x = (Number(x) + Math.imul(Number(y), Number(z))) >>> 0;
    y = (Number(y) + Math.imul(Number(z), x)) >>> 0;
    z = (Number(z) + Math.imul(x, y)) >>> 0;
  };
  mix();
  [x, y, z] = [x, y, z].map((word) => (Number(word) ^ (Number(word) >>> 16)) >>> 0);
  mix();
  const small = (Number(x) >>> 8) * 2 ** -24 + ((Number(y) >>> 8) + 1) * 2 ** -48;
  return -Math.log(-Math.log1p(-Math.min(small, 1 - 2 ** -24)));
}
