// Tuning: searches that were made when the site was, and their candidates, which race in the visitor's browser.

import { drawBarChart } from './bar_chart.js';
import { race } from './race.js';
import { fail, importBundle, showStatus } from './start_model.js';
import { drawTrials } from './trial_chart.js';
import { element } from './view.js';

/** @typedef {import('../runtime-js/model.js').Backend} Backend */
/** @typedef {Record<string, [chosen: string, options: number]>} Decisions */
/** @typedef {{ name: string, ratio: number, decisions: Decisions, loops: string, code: string }} Candidate */
/**
 * @typedef {{ target: Backend, folder: string, kernel: string, nodes: string[], device: string,
 *   trials: (number | null)[], candidates: [Candidate, Candidate, ...Candidate[]] }} Search `candidates` begin with that by
 *   the rules and the best one
 */

const NAMES = { wasm: 'WebAssembly', webgl: 'WebGL', webgpu: 'WebGPU' };

showSearches().catch(fail);

async function showSearches() {
  const response = await fetch('tuning.json');
  if (!response.ok) throw new Error(`tuning.json did not arrive: the server answered ${response.status}`);
  /** @type {Search[]} */
  const searches = await response.json();
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  for (const search of searches) {
    const section = Object.assign(create('section'), { className: 'search' });
    const button = create('button', 'Race the candidates');
    const chart = Object.assign(create('div'), { className: 'chart' });
    button.type = 'button';
    button.ariaLabel = `Race the candidates: ${NAMES[search.target]}`;
    button.addEventListener('click', async () => {
      if (button.ariaDisabled === 'true') return;
      for (const each of buttons) each.ariaDisabled = 'true'; // two races would slow down each other
      document.body.dataset.state = 'measuring';
      await showRace(search, chart);
      document.body.dataset.state = 'ready';
      for (const each of buttons) each.ariaDisabled = 'false';
    });
    buttons.push(button);
    section.append(create('h2', NAMES[search.target]), ...describe(search), button, chart);
    element('searches', HTMLElement).append(section);
  }
  document.body.dataset.state = 'ready';
  showStatus('');
}

/** @param {Search} search */
function* describe({ kernel, nodes, device, trials, candidates: [rules, best] }) {
  const failed = trials.filter((ratio) => ratio === null).length;
  const without = failed ? `; ${failed} of them failed` : '';
  yield create('p', `Kernel ${kernel}, of the nodes ${nodes.join(', ')}.`);
  const text = `${trials.length} candidates on ${device}${without}. The best one took`;
  yield create('p', `${text} ${best.ratio.toFixed(2)} of the time of the rules' schedule.`);
  yield drawTrials(trials);
  yield createTable(rules.decisions, best.decisions);
  yield createListing('Loops by the rules', rules.loops);
  yield createListing('Loops of the best candidate', best.loops);
  yield createListing('Code of the best candidate', best.code);
}

/**
 * @param {Decisions} rules
 * @param {Decisions} best
 */
function createTable(rules, best) {
  const table = create('table');
  const rows = Object.keys({ ...rules, ...best }).map((name) => {
    const row = create('tr');
    const [before] = rules[name] ?? ['none'];
    const [after] = best[name] ?? ['none'];
    const [, options] = best[name] ?? rules[name] ?? [];
    row.append(heading(name, 'row'), create('td', String(options)), create('td', before), create('td', after));
    row.classList.toggle('changed', before !== after);
    return row;
  });
  const head = create('thead');
  const body = create('tbody');
  const titles = create('tr');
  titles.append(...['decision', 'options', 'by the rules', 'best candidate'].map((title) => heading(title, 'col')));
  head.append(titles);
  body.append(...rows);
  table.append(create('caption', 'The schedule before and after; what differs is bold'), head, body);
  return table;
}

/**
 * @param {string} title
 * @param {string} text
 */
function createListing(title, text) {
  const details = create('details');
  const listing = create('pre', text);
  listing.tabIndex = 0; // scrolled by the keyboard
  listing.role = 'region';
  listing.ariaLabel = title;
  details.append(create('summary', title), listing);
  return details;
}

/**
 * @param {Search} search
 * @param {Element} chart
 */
async function showRace({ target, folder, candidates }, chart) {
  const name = NAMES[target];
  showStatus(`${name}: loading`);
  /** @type {import('../runtime-js/model.js').Model | undefined} */
  let model;
  try {
    const { load } = await importBundle(folder);
    model = await load({ backend: target });
    showStatus(`${name}: racing`);
    /** @param {readonly number[]} times @param {readonly boolean[]} [equal] */
    const show = (times, equal) =>
      drawBarChart(
        chart,
        candidates.map((candidate, i) => ({
          name: candidate.name,
          milliseconds: times[i] ?? Number.NaN,
          note: noteOf(candidate, (times[i] ?? Number.NaN) / (times[0] ?? Number.NaN), equal?.[i]),
        })),
        'Least time of a launch',
      );
    /** @type {readonly number[]} */
    let newest = [];
    const equal = await race(model, (times) => {
      newest = times;
      show(times);
    });
    show(newest, equal);
    const winner = newest.indexOf(Math.min(...newest));
    showStatus(`${name}: the fastest here is ${winner ? candidates[winner]?.name : 'the schedule by the rules'}`);
  } catch (error) {
    chart.replaceChildren(create('p', error instanceof Error ? error.message : String(error)));
    showStatus(`${name}: no race here`);
  } finally {
    await model?.dispose();
  }
}

/**
 * @param {Candidate} candidate
 * @param {number} here its time in units of the rules'
 * @param {boolean} [equal] whether its results are the same
 */
function noteOf({ ratio }, here, equal) {
  const results = equal === undefined ? '' : equal ? '; the same results' : '; other results';
  return `${here.toFixed(2)} of the rules' time here, ${ratio.toFixed(2)} in the search${results}`;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} [textContent]
 */
const create = (tag, textContent = '') => Object.assign(document.createElement(tag), { textContent });

/**
 * @param {string} text
 * @param {'row' | 'col'} scope
 */
const heading = (text, scope) => Object.assign(create('th', text), { scope });
