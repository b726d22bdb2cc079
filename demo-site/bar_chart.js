// A bar chart of times, in SVG: a line of text above each bar. It is as wide as its place, and its text is not
// scaled. Notes, which may be long, stand below it.

import { showFacts } from './view.js';

const ROW = 48;
const TEXT = 16;
const BAR = 14;
const NAMESPACE = 'http://www.w3.org/2000/svg';

/** @typedef {{ name: string, milliseconds?: number, note: string }} Bar without a time, the note says why */

/**
 * @param {Element} place
 * @param {readonly Bar[]} bars
 */
export function drawBarChart(place, bars) {
  const longest = Math.max(...bars.map(({ milliseconds = 0 }) => milliseconds));
  const chart = make('svg', {
    width: '100%',
    height: ROW * bars.length,
    role: 'img',
    'aria-label': `Median time of a run: ${bars.map(label).join('; ')}`,
  });
  bars.forEach((bar, i) => {
    const text = make('text', { x: 0, y: i * ROW + TEXT });
    text.textContent = label(bar);
    const y = i * ROW + TEXT + 8;
    const track = make('rect', { class: 'track', x: 0, y, width: '100%', height: BAR, rx: BAR / 2 });
    const width = `${(100 * (bar.milliseconds ?? 0)) / (longest || 1)}%`;
    chart.append(text, track, make('rect', { class: 'bar', x: 0, y, width, height: BAR, rx: BAR / 2 }));
  });
  const notes = Object.assign(document.createElement('dl'), { className: 'facts' });
  showFacts(notes, Object.fromEntries(bars.map(({ name, note }) => [name, note])));
  place.replaceChildren(chart, notes);
}

/** @param {Bar} bar */
const label = ({ name, milliseconds }) =>
  `${name}: ${milliseconds === undefined ? 'not here' : `${milliseconds.toFixed(1)} ms`}`;

/**
 * @param {string} tag
 * @param {Readonly<Record<string, string | number>>} attributes
 */
function make(tag, attributes) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  return node;
}
