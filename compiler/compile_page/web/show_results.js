// The outputs of a run: the best classes, figures, pictures, files.

import { showAnswer } from '../../../runtime-js/bundle_page/show_answers.js';
import { bestRows, isScores } from './classes.js';
import { drawOutput, isPicture, rangeOf } from './draw_output.js';
import { element, make, say, showFacts } from './elements.js';
import { milliseconds, number, shapeText, some } from './format.js';
import { writeNpy } from './npy.js';
import { saveFile } from './save_file.js';
import { numbersOf } from './tensor_values.js';

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {import('../../../runtime-js/model.js').OutputInfo} OutputInfo */
/** @typedef {import('../../../runtime-js/model.js').Outputs} Outputs */

const FIRST = 8;
/** @type {Record<string, string>} */
const names = { picture: 'the picture', tensors: 'these tensors' };

export function createResults() {
  const section = element('results', HTMLElement);
  const time = element('run-time', HTMLElement);
  /** @type {(ReturnType<typeof createOutput> | ReturnType<typeof createAnswer>)[]} */
  let views = [];

  return {
    /**
     * @param {OutputInfo} tensors
     * @param {string} model
     */
    prepare(tensors, model) {
      views = tensors.map((one) =>
        'answer' in one ? createAnswer(/** @type {any} */ (one)) : createOutput(one, model),
      );
      element('outputs', HTMLElement).replaceChildren(...views.map(({ block }) => block));
      section.dataset.runs = '0';
      section.hidden = true;
    },
    /**
     * @param {Outputs} outputs
     * @param {{ ms: number, what: string, picture?: ImageBitmap | undefined }} of
     */
    show(outputs, { ms, what, picture }) {
      section.hidden = false;
      // The camera says its time itself, many times a second.
      say(time, what === 'camera' ? '' : `On ${names[what] ?? what}: ${milliseconds(ms)}`);
      for (const view of views) view.update(outputs, picture);
      section.dataset.runs = String(Number(section.dataset.runs) + 1);
    },
    hide() {
      section.hidden = true;
      views = [];
      element('outputs', HTMLElement).replaceChildren();
    },
  };
}

/** @param {import('../../../runtime-js/model.js').AnswerInfo} answer */
function createAnswer({ name, answer }) {
  const shown = make('div');
  const block = make('article', {}, [
    make('h3', {}, [name, ' ', make('span', { className: 'soft', textContent: answer })]),
    shown,
  ]);
  block.dataset.output = name;
  return {
    block,
    /**
     * @param {Outputs} outputs
     * @param {ImageBitmap} [picture] that it is about
     */
    update: (outputs, picture) => shown.replaceChildren(showAnswer(answer, outputs[name], picture)),
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
  /** @type {Outputs[string]} */
  let array;
  const tensor = () => ({ name, dtype, shape: array.shape ?? shape.map(Number) });
  save.addEventListener('click', () => {
    const file = `${model}-${name}`.replace(/[^\w.-]+/g, '_');
    saveFile(`${file}.npy`, writeNpy(tensor(), array));
  });

  return {
    block,
    /** @param {Outputs} outputs */
    update(outputs) {
      array = /** @type {Outputs[string]} */ (outputs[name]);
      const here = tensor();
      what.textContent = `${dtype} ${shapeText(here.shape)}`;
      top.hidden = !isScores(here);
      figure.hidden = !isPicture(here);
      const values = numbersOf(dtype, array);
      const { least, largest, mean, strange } = summarise(values);
      if (!top.hidden) top.replaceChildren(...bestRows(values));
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
