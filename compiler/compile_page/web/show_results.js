// The outputs of a run: the best classes, figures, pictures, files.

import { bestRows, isScores } from './classes.js';
import { drawOutput, isPicture, rangeOf } from './draw_output.js';
import { element, make, say, showFacts } from './elements.js';
import { milliseconds, number, shapeText, some } from './format.js';
import { writeNpy } from './npy.js';
import { readLabels } from './read_labels.js';
import { saveFile } from './save_file.js';
import { numbersOf } from './tensor_values.js';

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {import('../../../runtime-js/model.js').OutputInfo} OutputInfo */
/** @typedef {import('../../../runtime-js/model.js').Outputs} Outputs */

const FIRST = 8;
/** @type {Record<string, string>} */
const names = { picture: 'the picture', tensors: 'these tensors' };

/** @param {(error: unknown) => void} fail */
export function createResults(fail) {
  const section = element('results', HTMLElement);
  const time = element('run-time', HTMLElement);
  const chooser = element('labels-file', HTMLInputElement);
  const labelsName = element('labels-name', HTMLElement);
  const usualName = labelsName.textContent ?? '';
  /** @type {string[]} */
  let labels = [];
  /** @type {ReturnType<typeof createOutput>[]} */
  let views = [];

  /** @param {File} file */
  async function giveLabels(file) {
    labels = await readLabels(file);
    labelsName.textContent = `${file.name}: ${some(labels.length, 'label')}`;
    for (const view of views) view.update(labels);
  }
  chooser.addEventListener('change', () => {
    const file = chooser.files?.[0];
    chooser.value = '';
    if (file) giveLabels(file).catch(fail);
  });

  return {
    giveLabels,
    /**
     * @param {OutputInfo} tensors
     * @param {string} model
     */
    prepare(tensors, model) {
      views = tensors.map((tensor) => createOutput(tensor, model));
      element('outputs', HTMLElement).replaceChildren(...views.map(({ block }) => block));
      section.dataset.runs = '0';
      section.hidden = true;
    },
    /**
     * @param {Outputs} outputs
     * @param {{ ms: number, what: string }} of
     */
    show(outputs, { ms, what }) {
      section.hidden = false;
      // The camera says its time itself, many times a second.
      say(time, what === 'camera' ? '' : `On ${names[what] ?? what}: ${milliseconds(ms)}`);
      for (const view of views) view.update(labels, outputs);
      chooser.closest('p')?.toggleAttribute('hidden', !views.some(({ hasClasses }) => hasClasses()));
      section.dataset.runs = String(Number(section.dataset.runs) + 1);
    },
    hide() {
      section.hidden = true;
      views = [];
      element('outputs', HTMLElement).replaceChildren();
    },
    forgetLabels() {
      labels = [];
      labelsName.textContent = usualName;
    },
  };
}

/**
 * @param {OutputInfo[number]} output
 * @param {string} model
 */
function createOutput({ name, dtype, shape }, model) {
  const top = make('ol', { className: 'top', ariaLabel: `Best classes of ${name}` });
  const canvas = make('canvas', { width: 1, height: 1, ariaLabel: `${name} as a picture` });
  canvas.setAttribute('role', 'img');
  const caption = make('figcaption', { className: 'soft' });
  const figure = make('figure', {}, [canvas, caption]);
  const facts = make('dl', { className: 'facts' });
  const save = make('button', { type: 'button', textContent: 'Save as .npy', ariaLabel: `Save ${name} as .npy` });
  const what = make('span', { className: 'soft' });
  const block = make('article', {}, [make('h3', {}, [name, ' ', what]), top, figure, facts, save]);
  block.dataset.output = name;
  /** @type {Outputs[string] | undefined} */
  let array;
  const tensor = () => ({ name, dtype, shape: array?.shape ?? shape.map(Number) });
  save.addEventListener('click', () => {
    const file = `${model}-${name}`.replace(/[^\w.-]+/g, '_');
    if (array) saveFile(`${file}.npy`, writeNpy(tensor(), array));
  });

  return {
    block,
    hasClasses: () => !top.hidden,
    /**
     * @param {readonly string[]} labels
     * @param {Outputs} [outputs] those before by default
     */
    update(labels, outputs) {
      array = outputs?.[name] ?? array;
      if (!array) return;
      const here = tensor();
      what.textContent = `${dtype} ${shapeText(here.shape)}`;
      top.hidden = !isScores(here);
      figure.hidden = !isPicture(here);
      const values = numbersOf(dtype, array);
      const { least, largest, mean, strange } = summarise(values);
      if (!top.hidden) top.replaceChildren(...bestRows(values, labels));
      if (!figure.hidden) {
        const range = rangeOf(least, largest);
        drawOutput(canvas, here.shape, values, range);
        caption.textContent = `black ${number(range[0] ?? 0)}, white ${number(range[1] ?? 1)}`;
      }
      const first = Array.from({ length: Math.min(FIRST, values.length) }, (_, i) => number(values[i] ?? 0));
      showFacts(facts, {
        min: values.length ? number(least) : '',
        max: values.length ? number(largest) : '',
        mean: values.length ? number(mean) : '',
        'not finite': strange ? some(strange, 'value') : '',
        values: `${first.join(', ')}${values.length > FIRST ? ', …' : ''}` || 'none',
      });
    },
  };
}

/**
 * Statistics of the values that are finite.
 * @param {ArrayLike<number>} values
 */
function summarise(values) {
  let least = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let finite = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > largest) largest = value;
    sum += value;
    finite++;
  }
  return { least, largest, mean: sum / finite, strange: values.length - finite };
}
