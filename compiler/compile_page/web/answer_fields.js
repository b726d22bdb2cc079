// Answers that runs return in place of outputs, and the labels of their classes.

import { element, make } from './elements.js';

/** @typedef {import('./types.js').Formats} Formats */
/** @typedef {import('./types.js').Port} Port */
/** @typedef {{ read: () => string | undefined }} Row */

export function createAnswerFields() {
  const list = element('answer-fields', HTMLElement);
  const more = element('add-answer', HTMLButtonElement);
  const chooser = element('labels-file', HTMLInputElement);
  const labelsName = element('labels-name', HTMLElement);
  const usualName = labelsName.textContent ?? '';
  const forget = element('forget-labels', HTMLButtonElement);
  /** @type {File | undefined} */
  let labels;
  /** @type {Row[]} */
  let rows = [];
  /** @type {() => void} */
  let add = () => {};

  /** @param {File | undefined} file */
  function setLabels(file) {
    labels = file;
    labelsName.textContent = file?.name ?? usualName;
    forget.hidden = !file;
  }
  chooser.addEventListener('change', () => {
    const file = chooser.files?.[0];
    chooser.value = '';
    if (file) setLabels(file);
  });
  forget.addEventListener('click', () => {
    setLabels(undefined);
    chooser.focus();
  });
  more.addEventListener('click', () => add());

  /**
   * @param {Formats['answers']} kinds
   * @param {readonly Port[]} outputs
   * @param {number} number
   */
  function makeRow(kinds, outputs, number) {
    const of = number ? ` ${number + 1}` : '';
    const values = Object.entries(kinds).flatMap(([kind, { presets }]) =>
      presets.length ? presets.map((preset) => `${kind}=${preset}`) : [kind],
    );
    const option = (/** @type {string} */ value, /** @type {string} */ textContent) =>
      make('option', { value, textContent });
    const kind = make('select', { ariaLabel: `Answer${of}` }, [
      option('', 'none: outputs as arrays'),
      ...values.map((value) => option(value, value)),
    ]);
    const output = make('select', { ariaLabel: `Output of answer${of}` }, [
      option('', 'found by its shape'),
      ...outputs.map(({ name }) => option(name, name)),
    ]);
    const settings = make('input', { type: 'text', ariaLabel: `Settings of answer${of}` });
    const hint = make('span', { className: 'soft' });
    const rest = make('div', { hidden: true }, [
      make('label', { className: 'line' }, ['Output', output]),
      make('label', { className: 'line' }, [make('span', {}, ['Settings ', hint]), settings]),
    ]);
    kind.addEventListener('change', () => {
      const [name = ''] = kind.value.split('=');
      rest.hidden = !name;
      hint.textContent = kinds[name]?.example ?? '';
      settings.value = '';
    });
    rows.push({
      read() {
        if (!kind.value) return undefined;
        const given = settings.value.trim().replace(/^,/, '');
        return `${output.value && `${output.value}=`}${kind.value}${given && `,${given}`}`;
      },
    });
    list.append(make('label', { className: 'line' }, ['Answer', kind]), rest);
    return kind;
  }

  return {
    setLabels,
    /**
     * @param {Formats} formats
     * @param {readonly Port[]} outputs
     */
    show({ answers }, outputs) {
      rows = [];
      list.replaceChildren();
      setLabels(undefined);
      makeRow(answers, outputs, 0);
      more.hidden = outputs.length < 2;
      add = () => makeRow(answers, outputs, rows.length).focus();
    },
    /** @returns {{ answers: string[], labels?: File }} for `compile` */
    options() {
      const answers = rows.map(({ read }) => read()).filter((answer) => answer !== undefined);
      return { answers, ...(labels && { labels }) };
    },
  };
}
