// The options of a compilation, its button, its progress by phases.

import { createAnswerFields } from './answer_fields.js';
import { element, make, numberIn, showFacts, showRows, tableRow } from './elements.js';
import { backendName, count, duration, percent, size, some } from './format.js';
import { createSizeFields } from './free_sizes.js';
import { createInputFormats } from './input_formats.js';
import { createStateFields } from './state_fields.js';

/** @typedef {import('./types.js').Target} Target */
/**
 * @typedef {object} Choice
 * @property {Record<string, (number | string)[]>} shapes of inputs with sizes that have no name
 * @property {Record<string, import('./types.js').Dim>} dims
 * @property {string[]} [states] pairs, none where it is empty, those of usual names where it is left out
 * @property {string[]} given inputs that runs are given though they follow from states
 * @property {number} [stateWindow] rows that states keep
 * @property {boolean | string} generate whether runs give tokens, and how
 * @property {Record<string, import('./types.js').Format>} pictures formats by input
 * @property {Record<string, import('./types.js').Format>} sounds
 * @property {string[]} answers
 * @property {File[]} answerFiles those that answers name
 * @property {File} [labels]
 * @property {Target[]} targets
 * @property {'f32' | 'f16'} precision
 * @property {string} [weights] the form of weights in fewer bits
 * @property {boolean} fastMath
 * @property {{ maxSeconds?: number, compileMemory?: number }} limits of compiling; what is undefined has none
 */

/**
 * @param {(choice: Choice) => void} compile
 * @param {() => void} cancel
 */
export function createCompileForm(compile, cancel) {
  const section = element('compile-section', HTMLElement);
  const form = element('compile-form', HTMLFormElement);
  const button = element('compile', HTMLButtonElement);
  const stop = element('cancel', HTMLButtonElement);
  const list = element('phases', HTMLElement);
  const report = element('report', HTMLElement);
  const layers = element('layers', HTMLDetailsElement);
  const media = element('media', HTMLDetailsElement);
  const sizes = createSizeFields();
  const formats = createInputFormats();
  const answers = createAnswerFields();
  const states = createStateFields();
  const boxes = /** @type {const} */ (['webgpu', 'webgl']).map((target) => ({
    target,
    box: element(`target-${target}`, HTMLInputElement),
  }));
  const first = /** @type {HTMLInputElement} */ (boxes[0]?.box);
  const isChecked = () => boxes.some(({ box }) => box.checked);
  const checkTargets = () => first.setCustomValidity(isChecked() ? '' : 'Choose a target, or both.');
  for (const { box } of boxes) box.addEventListener('change', checkTargets);

  /** @returns {Choice} */
  const choice = () => ({
    ...sizes.options(),
    ...states.options(),
    ...formats.options(),
    ...answers.options(),
    targets: boxes.filter(({ box }) => box.checked).map(({ target }) => target),
    precision: element('precision', HTMLSelectElement).value === 'f16' ? 'f16' : 'f32',
    weights: element('weights', HTMLSelectElement).value || undefined,
    fastMath: element('fast-math', HTMLInputElement).checked,
    limits: {
      maxSeconds: numberIn(element('max-seconds', HTMLInputElement)),
      compileMemory: megabytes(numberIn(element('compile-memory', HTMLInputElement))),
    },
  });

  // A field that is not filled in rightly may lie in closed options, where the browser could not show it.
  /** @param {Event} event */
  const showInvalid = ({ target }) => {
    const closed = /** @type {Element} */ (target).closest('details');
    if (closed) closed.open = true;
  };
  form.addEventListener('invalid', showInvalid, true);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (button.ariaDisabled !== 'true') compile(choice());
  });
  stop.addEventListener('click', cancel);

  /** @type {{ row: HTMLElement, time: HTMLElement, phase: string, began: number } | undefined} */
  let current;
  const tick = () => {
    const seconds = current ? (performance.now() - current.began) / 1000 : 0;
    if (current && seconds >= 1) current.time.textContent = duration(Math.floor(seconds));
  };
  let timer = 0;

  /** @param {string} phase */
  function addPhase(phase) {
    const time = make('span', { className: 'soft' });
    const row = make('li', {}, [make('span', phase), time]);
    list.append(row);
    return { row, time, phase, began: performance.now() };
  }

  function endTicks() {
    clearInterval(timer);
    current = undefined;
    button.ariaDisabled = null;
    stop.hidden = true;
  }

  return {
    /**
     * @param {import('./types.js').Card} card
     * @param {import('./types.js').Formats} tables
     * @returns {Choice | undefined} undefined where sizes have to be filled in first
     */
    show({ inputs, outputs }, tables) {
      section.hidden = false;
      button.textContent = 'Compile';
      list.replaceChildren();
      report.replaceChildren();
      layers.hidden = true;
      media.open = false;
      formats.show(tables, inputs);
      answers.show(tables, outputs);
      states.clear();
      const open = sizes.show(inputs);
      return open || !isChecked() ? undefined : choice();
    },
    begin() {
      list.replaceChildren();
      report.replaceChildren();
      layers.hidden = true;
      button.ariaDisabled = 'true';
      stop.hidden = false;
      clearInterval(timer);
      timer = setInterval(tick, 500);
    },
    /** @param {string} phase */
    enter(phase) {
      if (current?.phase === phase) return;
      current?.row.classList.add('done');
      current = addPhase(phase);
    },
    /**
     * @param {import('./types.js').Report} of
     * @param {number} modelBytes of the files that it was compiled from
     */
    finish(
      { seconds, kernels, products, answers, weightBytes, weightTypes, quantization, bundleBytes, heapBytes },
      modelBytes,
    ) {
      endTicks();
      list.replaceChildren();
      for (const [phase, time] of Object.entries(seconds)) {
        const added = addPhase(phase);
        added.row.classList.add('done');
        added.time.textContent = time < 1 ? milliseconds(time) : duration(time);
      }
      showFacts(report, {
        kernels: Object.entries(kernels)
          .map(([target, times]) => `${count(times)} for ${backendName(target)}`)
          .join(', '),
        products: productsText(products),
        answers: Object.values(answers).join('; '),
        weights: Object.entries(weightTypes)
          .map(([type, bytes]) => `${size(bytes)} ${type}`)
          .join(', '),
        quantised: quantization ? quantisedText(quantization) : '',
        bundle: `${size(bundleBytes)}${larger(bundleBytes, weightBytes, modelBytes)}`,
        "compiler's memory": size(heapBytes),
      });
      layers.hidden = !quantization;
      if (quantization) showLayers(quantization);
      button.textContent = 'Compile again';
    },
    fail() {
      current?.row.classList.add('failed');
      endTicks();
    },
    /** Shows where a picture's format is chosen. */
    askFormat() {
      media.open = true;
      formats.focus();
    },
    /** @param {File} file */
    giveLabels(file) {
      media.open = true;
      answers.setLabels(file);
    },
    hide() {
      endTicks();
      sizes.show([]);
      section.hidden = true;
    },
  };
}

/** @param {import('./types.js').Report['products']} products of each target */
function productsText(products) {
  /** @type {Map<string, string[]>} targets by what they compute */
  const texts = new Map();
  for (const [target, kinds] of Object.entries(products)) {
    const text = Object.entries(kinds)
      .map(([types, times]) => `${count(times)} of ${types}`)
      .join(', ');
    if (text) texts.set(text, [...(texts.get(text) ?? []), backendName(target)]);
  }
  return [...texts].map(([text, targets]) => `${text} (${targets.join(', ')})`).join('; ');
}

/** @param {import('./types.js').Quantization} quantization */
function quantisedText({ form, layers }) {
  const bytes = (/** @type {'before' | 'after'} */ when) => size(layers.reduce((sum, x) => sum + x.bytes[when], 0));
  const fewer = layers.filter(({ kept }) => !kept).length;
  return `${fewer} of ${some(layers.length, 'layer')}: ${form}; ${bytes('before')} → ${bytes('after')}`;
}

/** @param {import('./types.js').Quantization} quantization */
function showLayers({ layers }) {
  const sorted = [...layers].sort((a, b) => (b.error ?? Infinity) - (a.error ?? Infinity));
  showRows(
    element('layer-table', HTMLTableElement),
    sorted.map(({ node, operator, weights, bytes, error, kept = '' }) =>
      tableRow([node, operator, weights, size(bytes.after), error === null ? 'no number' : percent(error), kept]),
    ),
  );
}

/**
 * Why a bundle is larger than its model, where it is.
 * @param {number} bundle
 * @param {number} weights
 * @param {number} model
 */
function larger(bundle, weights, model) {
  if (bundle <= model) return '';
  const why = weights > model ? 'weights are stored as float32' : 'it has scripts and shaders';
  return `: more than the ${size(model)} of the model, as ${why}`;
}

/** @param {number} seconds less than one */
const milliseconds = (seconds) => `${(1000 * seconds).toFixed(0)} ms`;

/** @param {number | undefined} count as bytes */
const megabytes = (count) => (count === undefined ? undefined : Math.round(1e6 * count));
