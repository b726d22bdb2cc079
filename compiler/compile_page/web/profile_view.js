// How long each kernel of a model takes.

import { element, showRows, tableRow } from './elements.js';
import { milliseconds, percent, some } from './format.js';
import { labelKernels } from './kernel_labels.js';

/** @typedef {import('./run_model.js').Loaded} Loaded */

/**
 * @param {Loaded} loaded
 * @param {import('./try_it.js').Inputs} inputs
 * @param {number | undefined} ms a run's time, where it is known
 */
export async function profileKernels({ model, life }, inputs, ms = 1000) {
  const repeat = Math.max(1, Math.min(10, Math.round(1000 / ms))); // about a second, and a few where runs are slow
  const kernels = await model.profile(inputs, { repeat, signal: life.signal });
  const sum = kernels.reduce((total, kernel) => total + kernel.ms, 0);
  const labels = labelKernels(kernels);
  const rows = kernels
    .map(({ ops, ms }, i) => ({ label: labels[i] ?? '', ops, ms }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ label, ops, ms }) => tableRow([label, ops.join(', '), milliseconds(ms), percent(sum ? ms / sum : 0)]));
  const table = element('profile-table', HTMLTableElement);
  const clock = kernels.some((kernel) => kernel.clock === 'wall')
    ? 'with the way to the device and back'
    : "the GPU's own clock";
  const times = repeat === 1 ? 'one run' : `the mean of ${some(repeat, 'run')}`;
  if (table.caption)
    table.caption.textContent = `${some(kernels.length, 'kernel')}, ${milliseconds(sum)} in all: ${clock}, ${times}`;
  showRows(table, rows);
}

export const clearProfile = () => showRows(element('profile-table', HTMLTableElement), []);
