// The same inputs on each backend: how long it takes, and how far results differ.

import { numbersOf } from '../../../runtime-js/values/compare_results.js';
import { median } from './camera.js';
import { element, showRows, tableRow } from './elements.js';
import { backendName, messageOf, milliseconds, number } from './format.js';

/** @typedef {import('./run_model.js').Loaded} Loaded */
/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('../../../runtime-js/model.js').Outputs} Outputs */

const RUNS = 20;
const MILLISECONDS = 1000;

/**
 * @param {Loaded} loaded
 * @param {import('./try_it.js').Inputs} inputs
 * @param {(text: string) => void} showStatus
 */
export async function compareBackends({ compiled, targets, model, life }, inputs, showStatus) {
  const table = element('compare-table', HTMLTableElement);
  /** @type {HTMLTableRowElement[]} */
  const rows = [];
  /** @type {Outputs | undefined} */
  let first;
  for (const backend of targets) {
    showStatus(`Comparing: ${backendName(backend)}`);
    const mine = model.backend === backend;
    /** @type {Model | undefined} */
    let used;
    try {
      used = mine ? model : await compiled.load({ backend, warmup: true, signal: life.signal });
      const { ms, runs, outputs } = await measure(used, inputs, life.signal);
      const difference = first ? differenceOf(model, first, outputs) : 'compared with this';
      first ??= outputs;
      rows.push(tableRow([backendName(backend), milliseconds(ms), String(runs), difference, adapterOf(used)]));
    } catch (error) {
      if (life.signal.aborted) throw error;
      rows.push(tableRow([backendName(backend), messageOf(error)]));
      rows.at(-1)?.cells[1]?.setAttribute('colspan', '4');
    } finally {
      if (!mine) await used?.dispose();
    }
    const row = rows.at(-1);
    if (row) row.dataset.backend = backend;
    showRows(table, rows);
  }
}

/**
 * @param {Model} model
 * @param {import('./try_it.js').Inputs} inputs
 * @param {AbortSignal} signal
 */
async function measure(model, inputs, signal) {
  await model.reset?.(); // each run from the start
  let outputs = await model.run(inputs, { signal }); // the first one with these inputs does not count
  /** @type {number[]} */
  const times = [];
  const until = performance.now() + MILLISECONDS;
  do {
    await model.reset?.();
    const began = performance.now();
    outputs = await model.run(inputs, { signal });
    times.push(performance.now() - began);
  } while (times.length < RUNS && performance.now() < until);
  return { ms: median(times), runs: times.length, outputs };
}

/**
 * @param {Model} model
 * @param {Outputs} a
 * @param {Outputs} b
 */
function differenceOf(model, a, b) {
  let difference = 0;
  let largest = 0;
  for (const { name, dtype } of model.outputs) {
    const x = numbersOf(a[name], dtype);
    const y = numbersOf(b[name], dtype);
    if (x.length !== y.length) return 'other results';
    for (let i = 0; i < x.length; i++) {
      const apart = Math.abs((x[i] ?? 0) - (y[i] ?? 0));
      // What is NaN or infinite in both is no difference; in one of them it is an infinite one.
      if (!Object.is(x[i], y[i]))
        difference = Math.max(difference, Number.isNaN(apart) ? Number.POSITIVE_INFINITY : apart);
      if (Number.isFinite(x[i])) largest = Math.max(largest, Math.abs(x[i] ?? 0));
    }
  }
  return `${number(difference)} (values to ${number(largest)})`;
}

/** @param {Model} model */
function adapterOf(model) {
  const info = model.info();
  return 'adapter' in info ? info.adapter : '';
}

export const clearComparison = () => showRows(element('compare-table', HTMLTableElement), []);
