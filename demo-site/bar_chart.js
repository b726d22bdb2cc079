// A bar chart of times, in SVG: a line of text above each bar. It is as wide as its place, and its text is not
// scaled. Notes, which may be long, stand below it.

import { createChart, createShape, createText } from './svg.js';
import { showFacts } from './view.js';

const ROW = 48;
const TEXT = 16;
const BAR = 14;

/** @typedef {{ name: string, milliseconds?: number, note: string }} Bar without a time, the note says why */

/**
 * @param {Element} place
 * @param {readonly Bar[]} bars
 * @param {string} [what] the times are
 */
export function drawBarChart(place, bars, what = 'Median time of a run') {
  const longest = Math.max(...bars.map(({ milliseconds = 0 }) => milliseconds));
  const chart = createChart(ROW * bars.length, `${what}: ${bars.map(label).join('; ')}`);
  bars.forEach((bar, i) => {
    const text = createText(label(bar), { x: 0, y: i * ROW + TEXT });
    const y = i * ROW + TEXT + 8;
    const track = createShape('rect', { class: 'track', x: 0, y, width: '100%', height: BAR, rx: BAR / 2 });
    const width = `${(100 * (bar.milliseconds ?? 0)) / (longest || 1)}%`;
    chart.append(text, track, createShape('rect', { class: 'bar', x: 0, y, width, height: BAR, rx: BAR / 2 }));
  });
  const notes = Object.assign(document.createElement('dl'), { className: 'facts' });
  showFacts(notes, Object.fromEntries(bars.map(({ name, note }) => [name, note])));
  place.replaceChildren(chart, notes);
}

/** @param {Bar} bar */
const label = ({ name, milliseconds }) =>
  `${name}: ${milliseconds === undefined ? 'not here' : timeText(milliseconds)}`;

/** @param {number} milliseconds those of a kernel are small */
const timeText = (milliseconds) => `${milliseconds.toFixed(milliseconds < 1 ? 4 : 1)} ms`;
