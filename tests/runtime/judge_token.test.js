import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gumbel, judgeToken, movedBy, scaleOf } from '../../runtime-js/verify/judge_token.js';

const COUNT = 40;
const none = new Uint8Array(COUNT);
const greedy = { temperature: 0, topK: 0, topP: 1, minP: 0, repetitionPenalty: 1, seed: 0, position: 0, seen: none };

/** Numbers from 0 to 1 of a linear congruential generator. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** The token of logits, as compiler/generation/sample.py chooses it. */
function choose(logits, { temperature, topK, topP, minP, repetitionPenalty: by, seed, position, seen }) {
  const scores = Array.from(logits, (x, i) => (seen[i] ? (x > 0 ? x / by : x * by) : x));
  const largest = Math.max(...scores);
  if (!temperature) return scores.indexOf(largest);
  const logs = scores.map((x) => (x - largest) / temperature);
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  const some = topK ? order.slice(0, topK) : order;
  const total = some.reduce((sum, i) => sum + Math.exp(logs[i]), 0);
  let before = 0;
  const kept = some.filter((i) => {
    const stays = (before < topP * total && Math.exp(logs[i]) >= minP) || !before;
    before += Math.exp(logs[i]);
    return stays;
  });
  const raced = kept.map((i) => logs[i] + gumbel(i, seed, position));
  return kept[raced.indexOf(Math.max(...raced))];
}

const logprobsOf = (logits) => {
  const largest = Math.max(...logits);
  const mass = Array.from(logits, (x) => Math.exp(x - largest)).reduce((sum, x) => sum + x);
  return Array.from(logits, (x) => x - largest - Math.log(mass));
};

/** The step of a GPU whose logits are these. */
const said = (logits, choosing, token = choose(logits, choosing)) => ({
  token,
  logprob: logprobsOf(logits)[token],
  top: [],
});

const worst = (judged) => Math.max(...judged.map(({ apart }) => apart));
const named = (judged) => Object.fromEntries(judged.map(({ name, apart }) => [name, apart]));

const KINDS = [
  {},
  { repetitionPenalty: 1.7 },
  { temperature: 1 },
  { temperature: 0.3, repetitionPenalty: 0.6 },
  { temperature: 2, topK: 5 },
  { temperature: 1, topP: 0.8 },
  { temperature: 1.5, minP: 0.2 },
  { temperature: 1.2, topK: 9, topP: 0.9, minP: 0.02, repetitionPenalty: 1.3 },
];

/** Logits, and how a token is chosen of them. */
function* cases(each) {
  const random = numbers(5);
  for (const kind of KINDS)
    for (let i = 0; i < each; i++) {
      const logits = Float32Array.from(none, () => 8 * random() - 6);
      const seen = Uint8Array.from(none, () => Number(random() < 0.3));
      yield {
        logits,
        choosing: { ...greedy, ...kind, seen, seed: Math.floor(2 ** 32 * random()), position: i },
        random,
      };
    }
}

test("Gumbel's numbers are those of the reference", () => {
  for (const [token, seed, position, wanted] of [
    [0, 0, 0, 0.06519901129472046],
    [1, 7, 3, 2.142804040904354],
    [63, 2 ** 32 - 1, 9, 3.0406040208448184],
    [40, 123456789, 511, 2.934269256123803],
  ])
    assert.ok(Math.abs(gumbel(token, seed, position) - wanted) < 1e-9);
});

test('what rounding of logits changes is allowed, whatever a token is chosen by', () => {
  let others = 0;
  for (const { logits, choosing, random } of cases(60))
    for (const d of [1e-4, 1e-2, 0.5]) {
      const moved = logits.map((x) => x + d * (2 * random() - 1));
      const found = worst(judgeToken(said(moved, choosing), logits, choosing));
      assert.ok(found <= (1.01 * d) / scaleOf(logits), `${JSON.stringify(choosing)}: ${found}`);
      others += Number(choose(moved, choosing) !== choose(logits, choosing));
    }
  assert.ok(others > 50);
});

test('of nearly all draws no other token is near the one that is chosen', () => {
  let [near, all] = [0, 0];
  for (const { logits, choosing } of cases(4)) {
    const chosen = choose(logits, choosing);
    for (let token = 0; token < COUNT; token++) {
      const { token: apart } = named(judgeToken(said(logits, choosing, token), logits, choosing));
      if (token === chosen) assert.equal(apart, 0);
      else near += Number(apart < 1e-4);
      all++;
    }
  }
  assert.ok(near < all / 500, `${near} of ${all}`);
});

test('a token whose probability is that of another one is wrong', () => {
  const logits = Float32Array.from(none, (_, i) => Math.sin(i));
  const { token, ...others } = said(logits, greedy);
  assert.ok(named(judgeToken({ token: token + 1, ...others }, logits, greedy)).logprob > 0.01);
  for (const wrong of [-1, COUNT, 0.5, Number.NaN])
    assert.equal(named(judgeToken({ token: wrong, ...others }, logits, greedy)).token, Number.POSITIVE_INFINITY);
});

test('a tie takes any of its tokens, and at random none but one', () => {
  const logits = new Float32Array(COUNT).fill(3);
  const all = [...none.keys()];
  assert.ok(all.every((token) => worst(judgeToken(said(logits, greedy, token), logits, greedy)) === 0));
  const drawn = { ...greedy, temperature: 1e20, seed: 7 };
  const right = all.filter((token) => worst(judgeToken(said(logits, drawn, token), logits, drawn)) === 0);
  assert.deepEqual(right, [choose(logits, drawn)]);
});

test('the likeliest tokens are compared with theirs, in any order of a tie', () => {
  const logits = Float32Array.from(none, (_, i) => (i < 3 ? 5 : -i));
  const logprobs = logprobsOf(logits);
  const found = (ids, more = 0) => {
    const top = ids.map((token) => ({ token, logprob: logprobs[token] + more }));
    return named(judgeToken({ ...said(logits, greedy), top }, logits, greedy));
  };
  assert.deepEqual(found([2, 0]), { token: 0, logprob: 0, top_ids: 0, top_logprobs: 0 });
  assert.equal(found([1, 1]).top_ids, Number.POSITIVE_INFINITY);
  assert.ok(found([1, 7]).top_logprobs > 0.1);
  assert.ok(found([1, 0], 0.1).top_ids > 1e-3);
});

test('logits that are no numbers have no probabilities, on both', () => {
  const logits = Float32Array.from(none, (_, i) => (i === 4 ? Number.NaN : i));
  const of = (logprob) => worst(judgeToken({ token: 3, logprob, top: [] }, logits, greedy));
  assert.deepEqual([of(Number.NaN), of(-1)], [0, Number.POSITIVE_INFINITY]);
  const finite = Float32Array.from(none.keys());
  const chosen = { token: 39, logprob: Number.NaN, top: [] };
  assert.equal(worst(judgeToken(chosen, finite, greedy)), Number.POSITIVE_INFINITY);
});

test('logits of tokens without a probability are no measure', () => {
  const masked = (x) => Float32Array.of(3, -20, -1e9, Number.NEGATIVE_INFINITY, x);
  assert.equal(scaleOf(masked(0)), 20);
  assert.equal(scaleOf(new Float32Array(3)), 1);
  assert.equal(movedBy(Float32Array.of(3.5, -20, -2e9, 0, 0), masked(-0.25)), 0.5);
});
