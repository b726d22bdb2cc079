// Inputs as tensors: each random, zeros, or from a file: of NumPy's, or of a picture or a sound where the input takes one.

import { element, make } from './elements.js';
import { shapeText } from './format.js';
import { fits, readFile, valuesFor } from './npy.js';
import { randomValues, zeros } from './tensor_values.js';

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {import('./try_it.js').Inputs} Inputs */
/** @typedef {import('./npy.js').Contents} Contents */
/**
 * @typedef {object} Row An input of the model.
 * @property {TensorInfo} tensor
 * @property {HTMLElement} line
 * @property {HTMLElement} what its type and shape
 * @property {HTMLSelectElement} fill
 * @property {HTMLElement} name of the file
 * @property {Contents} [contents] of the file
 * @property {File} [media] a picture or a sound
 */

/**
 * @param {() => void} run
 * @param {(error: unknown) => void} fail with '' where there is no problem any more
 * @param {(input: string, contents: Contents) => void} resize chooses sizes with which these fit, or throws
 */
export function createTensorPanel(run, fail, resize) {
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
   * @param {Contents} contents
   */
  function take(row, contents) {
    const { name, dtype, shape } = row.tensor;
    if (contents.dtype === dtype && !fits(contents.shape, shape)) resize(name, contents);
    valuesFor(row.tensor, contents);
    row.contents = contents;
    row.media = undefined;
    row.fill.value = 'file';
    row.name.textContent = contents.file;
  }

  /**
   * @param {TensorInfo} tensor
   * @returns {Row}
   */
  function makeRow(tensor) {
    const [media, accept] =
      tensor.picture !== undefined ? ['picture', 'image/*'] : tensor.sound !== undefined ? ['sound', 'audio/*'] : [];
    const fill = make('select', { ariaLabel: `Values of ${tensor.name}` }, [
      make('option', { value: 'random', textContent: 'random' }),
      make('option', { value: 'zeros', textContent: 'zeros' }),
      make('option', { value: 'file', textContent: media ? `a ${media}` : 'a .npy file' }),
    ]);
    fill.dataset.input = tensor.name;
    const chooser = make('input', { type: 'file', accept: accept ?? '.npy' });
    chooser.dataset.input = tensor.name;
    const name = make('span', { className: 'soft' });
    const file = make('label', { className: 'file', hidden: true }, ['Choose ', chooser]);
    const what = make('span', { className: 'soft' });
    const line = make('div', { className: 'tensor' }, [
      make('span', {}, [make('b', tensor.name), ' ', what]),
      make('span', {}, [fill, ' ', file, ' ', name]),
    ]);
    /** @type {Row} */
    const row = { tensor, line, what, fill, name };
    fill.addEventListener('change', () => {
      file.hidden = fill.value !== 'file';
    });
    chooser.addEventListener('change', () => {
      const chosen = chooser.files?.[0];
      chooser.value = '';
      if (chosen && media) {
        row.media = chosen;
        name.textContent = chosen.name;
        run();
      } else if (chosen)
        readFile(chosen)
          .then((contents) => take(row, contents))
          .then(() => fail(''), fail);
    });
    return row;
  }

  return {
    /**
     * @param {readonly TensorInfo[]} inputs of the model before with other sizes where it is not `another`
     * @param {boolean} another
     */
    show(inputs, another) {
      if (another) {
        rows = inputs.map(makeRow);
        list.replaceChildren(...rows.map(({ line }) => line));
      }
      rows.forEach((row, i) => {
        row.tensor = inputs[i] ?? row.tensor;
        row.what.textContent = `${row.tensor.dtype} ${shapeText(row.tensor.shape)}`;
      });
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
    async load(file) {
      const contents = await readFile(file);
      /** @type {unknown} */
      let problem;
      for (const row of [...rows].sort((a, b) => Number(!!a.contents) - Number(!!b.contents))) {
        try {
          take(row, contents);
          row.fill.dispatchEvent(new Event('change'));
          return;
        } catch (error) {
          problem ??= error;
        }
      }
      throw problem ?? new Error(`${file.name}: the model has no inputs`);
    },
    /**
     * @param {string} [leftOut]
     * @returns {Inputs}
     */
    values(leftOut) {
      const used = rows.filter(({ tensor }) => tensor.name !== leftOut);
      /** @type {(row: Row, i: number) => Inputs[string]} */
      const valuesOf = ({ tensor, fill, contents, media }, i) => {
        const { shape } = tensor;
        if (fill.value === 'zeros') return { data: zeros(tensor), shape };
        if (fill.value === 'random') return { data: randomValues(tensor, Number(seed.value) + 1000 * i), shape };
        if (media) return media;
        if (!contents) throw new Error(`choose a file for the input ${tensor.name}`);
        return { data: valuesFor(tensor, contents), shape };
      };
      return Object.fromEntries(used.map((row, i) => [row.tensor.name, valuesOf(row, i)]));
    },
    clear() {
      rows = [];
      list.replaceChildren();
    },
  };
}
