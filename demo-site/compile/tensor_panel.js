// Inputs as tensors: each random, zeros, or from a .npy file.

import { element, make } from './elements.js';
import { shapeText } from './format.js';
import { readTensor } from './npy.js';
import { randomValues, zeros } from './tensor_values.js';

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {import('./tensor_values.js').TypedArray} TypedArray */
/**
 * @typedef {object} Row An input of the model.
 * @property {TensorInfo} tensor
 * @property {HTMLElement} line
 * @property {HTMLSelectElement} fill
 * @property {HTMLElement} name of the file
 * @property {TypedArray} [array] of the file
 */

/**
 * @param {() => void} run
 * @param {(error: unknown) => void} fail with '' where there is no problem any more
 */
export function createTensorPanel(run, fail) {
  const panel = element('tensors-panel', HTMLFormElement);
  const list = element('tensor-rows', HTMLElement);
  const seed = element('seed', HTMLInputElement);
  /** @type {Row[]} */
  let rows = [];

  panel.addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });

  /**
   * @param {Row} row
   * @param {File} file
   */
  async function read(row, file) {
    row.array = await readTensor(row.tensor, file);
    row.fill.value = 'file';
    row.name.textContent = file.name;
  }

  /**
   * @param {TensorInfo} tensor
   * @returns {Row}
   */
  function makeRow(tensor) {
    const fill = make('select', { ariaLabel: `Values of ${tensor.name}` }, [
      make('option', { value: 'random', textContent: 'random' }),
      make('option', { value: 'zeros', textContent: 'zeros' }),
      make('option', { value: 'file', textContent: 'a .npy file' }),
    ]);
    fill.dataset.input = tensor.name;
    const chooser = make('input', { type: 'file', accept: '.npy' });
    chooser.dataset.input = tensor.name;
    const name = make('span', { className: 'soft' });
    const file = make('label', { className: 'file', hidden: true }, ['Choose ', chooser]);
    const what = make('span', { className: 'soft', textContent: `${tensor.dtype} ${shapeText(tensor.shape)}` });
    const line = make('div', { className: 'tensor' }, [
      make('span', {}, [make('b', tensor.name), ' ', what]),
      make('span', {}, [fill, ' ', file, ' ', name]),
    ]);
    const row = { tensor, line, fill, name };
    fill.addEventListener('change', () => {
      file.hidden = fill.value !== 'file';
    });
    chooser.addEventListener('change', () => {
      const chosen = chooser.files?.[0];
      chooser.value = '';
      if (chosen) read(row, chosen).then(() => fail(''), fail);
    });
    return row;
  }

  return {
    /** @param {readonly TensorInfo[]} inputs */
    show(inputs) {
      const same = JSON.stringify(inputs) === JSON.stringify(rows.map(({ tensor }) => tensor));
      if (!same) rows = inputs.map(makeRow);
      list.replaceChildren(...rows.map(({ line }) => line));
    },
    /** @param {string | undefined} name of the input that a picture fills, whose line is not shown */
    leaveOut(name) {
      for (const { tensor, line } of rows) line.hidden = tensor.name === name;
      panel.hidden = rows.every(({ line }) => line.hidden) && rows.length > 0;
    },
    /**
     * A file that was dropped: for the first input that it fits, one without a file before others.
     * @param {File} file
     */
    async give(file) {
      /** @type {unknown} */
      let problem;
      for (const row of [...rows].sort((a, b) => Number(!!a.array) - Number(!!b.array))) {
        try {
          await read(row, file);
          row.fill.dispatchEvent(new Event('change'));
          return;
        } catch (error) {
          problem ??= error;
        }
      }
      throw problem ?? new Error(`${file.name}: the model has no inputs`);
    },
    /** @param {string} [leftOut] */
    values(leftOut) {
      const used = rows.filter(({ tensor }) => tensor.name !== leftOut);
      return Object.fromEntries(
        used.map(({ tensor, fill, array }, i) => {
          if (fill.value === 'zeros') return [tensor.name, zeros(tensor)];
          if (fill.value === 'random') return [tensor.name, randomValues(tensor, Number(seed.value) + 1000 * i)];
          if (!array) throw new Error(`choose a .npy file for the input ${tensor.name}`);
          return [tensor.name, array];
        }),
      );
    },
    clear() {
      rows = [];
      list.replaceChildren();
    },
  };
}
