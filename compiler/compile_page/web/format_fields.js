// A format of an input as form fields: one of the compiler's table, and what is changed of it.

import { make } from './elements.js';

/** @typedef {import('./types.js').FormatTable} FormatTable */
/** @typedef {import('./types.js').Format} Format */
/** @typedef {import('./types.js').FormatValue} FormatValue */

/**
 * @param {FormatTable} table
 * @param {string} label
 */
export function createFormatFields({ named, choices }, label) {
  let like = '';
  /** @type {Map<string, HTMLInputElement | HTMLSelectElement>} */
  let fields = new Map();
  const list = make('div', { className: 'fields' });
  const summary = make('summary', 'Change the format');
  const details = make('details', { hidden: true }, [summary, list]);

  /** @returns {Record<string, FormatValue>} what differs from the table's */
  function changes() {
    const base = named[like] ?? {};
    /** @type {Record<string, FormatValue>} */
    const changed = {};
    for (const [name, field] of fields) {
      const value = valueIn(field, base[name] ?? null);
      if (JSON.stringify(value) !== JSON.stringify(base[name])) changed[name] = value;
    }
    return changed;
  }

  return {
    details,
    /** @param {string} name of the table, or '' for none */
    show(name) {
      like = name;
      const entries = Object.entries(named[name] ?? {});
      fields = new Map(entries.map(([key, value]) => [key, createField(`${label}: ${key}`, value, choices[key])]));
      list.replaceChildren(
        ...Array.from(fields, ([key, field]) => make('label', { className: 'line' }, [make('code', key), field])),
      );
      details.hidden = !name;
      details.open = false;
    },
    /** @returns {Format | undefined} as the compiler takes it */
    value() {
      if (!like) return undefined;
      const changed = changes();
      return Object.keys(changed).length ? { like, ...changed } : like;
    },
  };
}

/**
 * @param {string} ariaLabel
 * @param {FormatValue} value
 * @param {readonly (string | null)[]} [choices]
 */
function createField(ariaLabel, value, choices) {
  if (typeof value === 'boolean') return make('input', { type: 'checkbox', ariaLabel, checked: value });
  const text = textOf(value);
  if (!choices) return make('input', { type: 'text', ariaLabel, value: text });
  const options = choices.map((choice) => make('option', { value: textOf(choice), textContent: choice ?? 'open' }));
  const select = make('select', { ariaLabel }, options);
  select.value = text;
  return select;
}

/** @param {FormatValue} value */
const textOf = (value) => (Array.isArray(value) ? value.join(', ') : String(value ?? ''));

/**
 * The value in a field, of the type of `base`. A text where a number belongs stays one: the compiler says what is wrong.
 * @param {HTMLInputElement | HTMLSelectElement} field
 * @param {FormatValue} base
 * @returns {FormatValue}
 */
function valueIn(field, base) {
  if (typeof base === 'boolean') return /** @type {HTMLInputElement} */ (field).checked;
  const text = field.value.trim();
  if (Array.isArray(base)) return text.split(/[\s,]+/).map(numberOf);
  if (text === '' && base === null) return null;
  return typeof base === 'string' || field instanceof HTMLSelectElement ? text : numberOf(text);
}

/** @param {string} text */
const numberOf = (text) => (text === '' || Number.isNaN(Number(text)) ? text : Number(text));
