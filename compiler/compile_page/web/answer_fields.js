// Answers that runs return in place of outputs, and the labels of their classes.

import { element, make } from './elements.js';

/** @typedef {import('./types.js').Formats} Formats */
/** @typedef {import('./types.js').Port} Port */
/** @typedef {{ read: () => { answer: string, file: File | undefined } | undefined }} Row */

/** In place of a preset: the form is read from a file. */
const FILE = 'FILE.json';

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
  onFile(chooser, setLabels);
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
    const values = Object.entries(kinds).flatMap(([kind, { presets, file }]) => {
      const given = [...presets, ...(file ? [FILE] : [])];
      return given.length ? given.map((one) => `${kind}=${one}`) : [kind];
    });
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
    const own = createFileField(`File of answer${of} `);
    const settings = make('input', { type: 'text', ariaLabel: `Settings of answer${of}` });
    const hint = make('span', { className: 'soft' });
    const rest = make('div', { hidden: true }, [
      own.line,
      make('label', { className: 'line' }, ['Output', output]),
      make('label', { className: 'line' }, [make('span', {}, ['Settings ', hint]), settings]),
    ]);
    kind.addEventListener('change', () => {
      const [name = ''] = kind.value.split('=');
      rest.hidden = !name;
      own.show(kind.value.endsWith(`=${FILE}`));
      hint.textContent = kinds[name]?.example ?? '';
      settings.value = '';
    });
    rows.push({
      read() {
        if (!kind.value) return undefined;
        const given = settings.value.trim().replace(/^,/, '');
        const file = own.file();
        const form = file ? kind.value.replace(FILE, () => file.name) : kind.value;
        return { answer: `${output.value && `${output.value}=`}${form}${given && `,${given}`}`, file };
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
    /** @returns {{ answers: string[], answerFiles: File[], labels?: File }} */
    options() {
      const given = rows.map(({ read }) => read()).filter((row) => row !== undefined);
      return {
        answers: given.map(({ answer }) => answer),
        answerFiles: withoutRepeats(given.map(({ file }) => file).filter((file) => file !== undefined)),
        ...(labels && { labels }),
      };
    },
  };
}

/**
 * The chooser of a form's file, which is needed while it is shown.
 * @param {string} label
 */
function createFileField(label) {
  const chooser = make('input', { type: 'file', accept: '.json' });
  const name = make('span', { className: 'soft', textContent: 'JSON, such as { "like": "ssd" }' });
  const line = make('p', { hidden: true }, [make('label', { className: 'file' }, [label, chooser]), ' ', name]);
  /** @type {File | undefined} */
  let chosen;
  const check = () => chooser.setCustomValidity(line.hidden || chosen ? '' : 'Choose the file of the answer.');
  onFile(chooser, (file) => {
    chosen = file;
    name.textContent = file.name;
    check();
  });
  return {
    line,
    /** @param {boolean} needed */
    show(needed) {
      line.hidden = !needed;
      check();
    },
    file: () => (line.hidden ? undefined : chosen),
  };
}

/**
 * @param {HTMLInputElement} chooser
 * @param {(file: File) => void} take
 */
function onFile(chooser, take) {
  chooser.addEventListener('change', () => {
    const file = chooser.files?.[0];
    chooser.value = ''; // so that the same file can be chosen again
    if (file) take(file);
  });
}

/**
 * Without files that were chosen for several answers; different ones of the same name stay.
 * @param {readonly File[]} files
 */
function withoutRepeats(files) {
  return [...new Map(files.map((file) => [`${file.name} ${file.size} ${file.lastModified}`, file])).values()];
}
