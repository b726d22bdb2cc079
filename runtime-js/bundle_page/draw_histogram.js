// Times as a histogram.
import { time } from './page_elements.js';

const BARS = 16;

/**
 * The histogram, and its main numbers as text, which screen readers read.
 * @param {readonly number[]} times at least one, in ms
 */
export function drawHistogram(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (/** @type {number} */ part) => /** @type {number} */ (sorted[Math.ceil(part * sorted.length) - 1]);
  const [least, most] = [at(1 / sorted.length), at(1)];
  const counts = /** @type {number[]} */ (Array(BARS).fill(0));
  const step = (most - least) / BARS || 1;
  for (const one of times) /** @type {number} */ (counts[Math.min(BARS - 1, Math.floor((one - least) / step))]) += 1;
  const chart = Object.assign(document.createElement('div'), { className: 'histogram', ariaHidden: 'true' });
  for (const count of counts) {
    const bar = document.createElement('span');
    bar.style.height = `${(100 * count) / Math.max(...counts)}%`;
    chart.append(bar);
  }
  const words = `median ${time(at(0.5))}, 95% within ${time(at(0.95))}, ${times.length} times`;
  return { chart, words: `${words}, from ${time(least)} to ${time(most)}` };
}
