// Backends: the site's models on each backend that the browser has, one after the other, with times as they come.

import { drawBarChart } from './bar_chart.js';
import { fail, importBundle, showStatus } from './start_model.js';
import { element } from './view.js';

/** @typedef {import('../runtime-js/model.js').Model} Model */
/** @typedef {import('../runtime-js/model.js').Backend} Backend */
/** @typedef {{ title: string, folder: string, backends: Backend[] }} Listed */
/** @typedef {import('./bar_chart.js').Bar} Bar */

const RUNS = 20;
const MILLISECONDS = 2000;
/** The sizes of a picture that a camera gives. */
const PICTURE = /** @type {const} */ ([480, 640]);

showModels().catch(fail);

async function showModels() {
  const response = await fetch('site.json');
  if (!response.ok) throw new Error(`site.json did not arrive: the server answered ${response.status}`);
  /** @type {{ models: Listed[] }} */
  const { models } = await response.json();
  const sections = models.map(createSection);
  /** @param {boolean} disabled one comparison at a time: two would slow down each other */
  const disable = (disabled) => {
    for (const { button } of sections) button.ariaDisabled = String(disabled);
  };
  for (const { button, chart, listed } of sections) {
    button.addEventListener('click', async () => {
      if (button.ariaDisabled === 'true') return;
      disable(true);
      document.body.dataset.state = 'measuring';
      await compare(listed, chart);
      document.body.dataset.state = 'ready';
      showStatus(`${listed.title}: compared`);
      disable(false);
    });
  }
  element('models', HTMLElement).append(...sections.map(({ section }) => section));
  document.body.dataset.state = 'ready';
  showStatus('');
}

/** @param {Listed} listed */
function createSection(listed) {
  const section = document.createElement('section');
  const heading = Object.assign(document.createElement('h2'), { textContent: listed.title });
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: 'Compare' });
  button.ariaLabel = `Compare the backends: ${listed.title}`;
  const chart = Object.assign(document.createElement('div'), { className: 'chart' });
  chart.dataset.model = listed.folder;
  section.append(heading, button, chart);
  return { section, button, chart, listed };
}

/**
 * @param {Listed} listed
 * @param {Element} chart
 */
async function compare({ title, folder, backends }, chart) {
  /** @type {Bar[]} */
  const bars = [];
  for (const name of backends) {
    showStatus(`${title}: ${name}`);
    /** @param {Bar} bar */
    const show = (bar) => {
      bars[backends.indexOf(name)] = bar;
      drawBarChart(chart, bars);
    };
    try {
      await measure(folder, name, show);
    } catch (error) {
      show({ name, note: error instanceof Error ? error.message : String(error) });
    }
  }
}

/**
 * @param {string} folder
 * @param {Backend} name
 * @param {(bar: Bar) => void} show
 */
async function measure(folder, name, show) {
  const { load } = await importBundle(folder);
  const model = await load({ backend: name, warmup: true });
  try {
    const info = model.info();
    const note = 'variant' in info ? info.variant : info.adapter;
    const inputs = inputsOf(model);
    await model.run(inputs); // the first one with these inputs does not count
    /** @type {number[]} */
    const times = [];
    const until = performance.now() + MILLISECONDS;
    do {
      const began = performance.now();
      await model.run(inputs);
      times.push(performance.now() - began);
      show({ name, milliseconds: median(times), note });
    } while (times.length < RUNS && performance.now() < until);
  } finally {
    await model.dispose();
  }
}

/**
 * A grey picture for inputs of pictures, and a half in each element of others.
 *
 * @param {Model} model
 */
function inputsOf(model) {
  const shapes = model.inputShapes(Object.fromEntries(model.dimensions.map(({ name, most }) => [name, most])));
  const [height, width] = PICTURE;
  return Object.fromEntries(
    model.inputs.map(({ name, picture }) => [
      name,
      picture
        ? { data: new Uint8ClampedArray(4 * height * width).fill(127), shape: PICTURE }
        : new Float32Array((shapes[name] ?? []).reduce((a, b) => a * b, 1)).fill(0.5),
    ]),
  );
}

/** @param {readonly number[]} times */
const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
