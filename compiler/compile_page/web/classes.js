// Outputs that are scores of classes: the best of them.

import { make } from './elements.js';
import { number, percent } from './format.js';

const SHOWN = 5;

/**
 * Whether an output is one row of scores.
 * @param {import('./tensor_values.js').TensorInfo} tensor
 */
export function isScores({ dtype, shape }) {
  const long = shape.filter((extent) => extent !== 1);
  const classes = long[0] ?? 0;
  return dtype.startsWith('float') && long.length === 1 && classes >= 2 && classes <= 100_000;
}

/**
 * The best first.
 * @param {ArrayLike<number>} scores
 * @returns {{ index: number, share: number, score: number }[]} shares by softmax, unless scores are shares
 */
export function bestClasses(scores) {
  const values = Array.from(scores);
  const order = values.map((_, index) => index).sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
  const sum = values.reduce((total, value) => total + value, 0);
  const areShares = Math.abs(sum - 1) < 1e-2 && values.every((value) => value >= 0);
  const highest = values[order[0] ?? 0] ?? 0;
  const powers = areShares ? 1 : values.reduce((total, value) => total + Math.exp(value - highest), 0);
  return order.slice(0, SHOWN).map((index) => {
    const score = values[index] ?? 0;
    return { index, score, share: areShares ? score : Math.exp(score - highest) / powers };
  });
}

/** @param {ArrayLike<number>} scores */
export function bestRows(scores) {
  return bestClasses(scores).map(({ index, share, score }) => {
    const bar = make('span', { className: 'bar' });
    bar.style.setProperty('--share', String(share));
    const row = make('li', {}, [
      make('b', String(index)),
      make('data', { value: String(share), textContent: percent(share), title: `score ${number(score)}` }),
      bar,
    ]);
    row.dataset.index = String(index);
    return row;
  });
}
