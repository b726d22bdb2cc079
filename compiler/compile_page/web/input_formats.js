// What fills each input: an array, or a picture or a sound of a format.

import { element, make } from './elements.js';
import { createFormatFields } from './format_fields.js';

/** @typedef {import('./types.js').Port} Port */
/** @typedef {import('./types.js').Formats} Formats */
/** @typedef {Record<string, import('./types.js').Format>} ByInput */
/** @typedef {'pictures' | 'sounds'} Kind */

const FLOATS = ['float32', 'float16'];

/**
 * Kinds that may fill an input, by its type and the number of its dimensions; whether a format fits is the compiler's to say.
 * @param {Port} port
 * @returns {Kind[]}
 */
function kindsFor({ dtype, shape }) {
  const pictures = [...FLOATS, 'uint8'].includes(dtype) && (shape?.length ?? 4) === 4;
  const sounds = FLOATS.includes(dtype) && shape?.length !== 4;
  return [
    ...(pictures ? [/** @type {const} */ ('pictures')] : []),
    ...(sounds ? [/** @type {const} */ ('sounds')] : []),
  ];
}

export function createInputFormats() {
  const group = element('input-formats', HTMLFieldSetElement);
  const list = element('input-format-fields', HTMLElement);
  /** @type {{ name: string, read: () => [Kind, import('./types.js').Format] | undefined }[]} */
  let rows = [];

  /**
   * @param {Formats} formats
   * @param {Port} port
   * @param {Kind[]} kinds
   */
  function makeRow(formats, { name }, kinds) {
    const groups = kinds.map((kind) => {
      const names = Object.keys(formats[kind].named);
      const options = names.map((one) => make('option', { value: `${kind} ${one}`, textContent: one }));
      return make('optgroup', { label: kind === 'pictures' ? 'A picture' : 'A sound' }, options);
    });
    const select = make('select', {}, [make('option', { value: '', textContent: 'an array' }), ...groups]);
    select.dataset.format = name;
    const fields = new Map(kinds.map((kind) => [kind, createFormatFields(formats[kind], name)]));
    const chosen = () => /** @type {[Kind, string]} */ (select.value.split(' '));
    select.addEventListener('change', () => {
      const [kind, one = ''] = chosen();
      for (const [own, form] of fields) form.show(own === kind ? one : '');
    });
    rows.push({
      name,
      read() {
        const [kind] = chosen();
        const value = fields.get(kind)?.value();
        return value === undefined ? undefined : [kind, value];
      },
    });
    const line = make('label', { className: 'line' }, [make('b', name), select]);
    return [line, ...Array.from(fields.values(), ({ details }) => details)];
  }

  return {
    /**
     * @param {Formats} formats
     * @param {readonly Port[]} inputs
     */
    show(formats, inputs) {
      rows = [];
      const lines = inputs.flatMap((port) => {
        const kinds = kindsFor(port);
        return kinds.length ? makeRow(formats, port, kinds) : [];
      });
      list.replaceChildren(...lines);
      group.hidden = lines.length === 0;
    },
    /** Where a picture is to be chosen a format for. */
    focus: () => list.querySelector('select')?.focus(),
    /** @returns {{ pictures: ByInput, sounds: ByInput }} for `compile` */
    options() {
      /** @type {Record<Kind, ByInput>} */
      const found = { pictures: {}, sounds: {} };
      for (const { name, read } of rows) {
        const [kind, format] = read() ?? [];
        if (kind && format !== undefined) found[kind][name] = format;
      }
      return found;
    },
  };
}
