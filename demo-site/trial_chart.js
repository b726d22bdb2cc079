// The trials of a search in the order in which they were made: the time of each, in units of that by the rules, and the
// best one so far.

import { createChart, createShape, createText } from './svg.js';

const HEIGHT = 220;
const TOP = 24;
const BOTTOM = HEIGHT - 24;
/** Slower ones are drawn at the top. */
const SLOWEST = 2;

/**
 * @param {readonly (number | null)[]} trials null for one that failed
 * @returns {Element}
 */
export function drawTrials(trials) {
  const best = bestSoFar(trials);
  const last = best.at(-1) ?? 1;
  const found =
    last < 1
      ? `The best one so far falls from 1, the rules' time, to ${last.toFixed(2)} at trial ${trials.indexOf(last) + 1}.`
      : "None is faster than the rules' schedule.";
  const chart = createChart(HEIGHT, `Time of ${trials.length} candidates in the order of the search. ${found}`);
  const rules = { x1: 0, x2: '100%', y1: yOf(1), y2: yOf(1) };
  chart.append(
    createText('slower', { x: 0, y: TOP - 8 }),
    createShape('line', { class: 'rule', ...rules }),
    createText('by the rules', { x: '100%', y: yOf(1) - 6, 'text-anchor': 'end' }),
  );
  trials.forEach((ratio, i) => {
    if (ratio !== null)
      chart.append(createShape('circle', { class: 'trial', cx: xOf(i + 0.5), cy: yOf(ratio), r: 3.5 }));
  });
  best.forEach((ratio, i) => {
    const before = best[i - 1] ?? 1;
    const step = { x1: xOf(i + 0.5), x2: xOf(i + 0.5), y1: yOf(before), y2: yOf(ratio) };
    const level = { x1: xOf(i + 0.5), x2: xOf(Math.min(i + 1.5, best.length)), y1: yOf(ratio), y2: yOf(ratio) };
    if (ratio !== before) chart.append(createShape('line', { class: 'best-line', ...step }));
    chart.append(createShape('line', { class: 'best-line', ...level }));
  });
  chart.append(
    createText('trial 1', { x: 0, y: HEIGHT - 4 }),
    createText(`trial ${trials.length}`, { x: '100%', y: HEIGHT - 4, 'text-anchor': 'end' }),
  );
  return chart;

  /** @param {number} position */
  function xOf(position) {
    return `${(100 * position) / trials.length}%`;
  }
}

/** @param {number} ratio */
const yOf = (ratio) => BOTTOM - ((BOTTOM - TOP) * Math.min(ratio, SLOWEST)) / SLOWEST;

/** @param {readonly (number | null)[]} trials */
function bestSoFar(trials) {
  let best = 1;
  return trials.map((ratio) => {
    best = Math.min(best, ratio ?? best);
    return best;
  });
}
