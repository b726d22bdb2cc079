// Sizes that a model's inputs leave open, and the form fields that ask for them.

import { element, make } from './elements.js';

/** @typedef {import('./types.js').Port} Port */
/**
 * @typedef {object} FreeSize
 * @property {string} key
 * @property {string} label
 * @property {string} where the inputs that have it
 * @property {number | undefined} usual
 */

/**
 * A name stands for one size, in however many inputs; a size without a name for itself.
 * @param {Port} port
 * @param {number} axis
 */
const keyOf = ({ name, shape }, axis) => (shape?.[axis] ? `= ${shape[axis]}` : `${name} ${axis}`);

/** @param {Port} port @param {number} axis */
const isFree = ({ shape }, axis) => typeof shape?.[axis] !== 'number';

/**
 * @param {readonly Port[]} inputs
 * @returns {FreeSize[]}
 */
function freeSizes(inputs) {
  /** @type {Map<string, FreeSize>} */
  const sizes = new Map();
  for (const port of inputs) {
    port.shape?.forEach((extent, axis) => {
      if (!isFree(port, axis)) return;
      const key = keyOf(port, axis);
      const before = sizes.get(key);
      const where = `${port.name}, dimension ${axis + 1}`;
      const usual = axis === 0 || /batch|^n$/i.test(String(extent ?? '')) ? 1 : undefined;
      sizes.set(key, {
        key,
        label: extent ? String(extent) : 'size',
        where: before ? `${before.where}; ${where}` : where,
        usual: before?.usual ?? usual,
      });
    });
  }
  return [...sizes.values()];
}

/** @param {Port} port as text, with the sizes that are free in italics */
export function shapeElement({ shape }) {
  if (!shape) return make('span', {}, [make('i', 'any shape')]);
  const extents = shape.map((extent) => (typeof extent === 'number' ? String(extent) : make('i', extent || '?')));
  return make('span', {}, ['[', ...extents.flatMap((extent, i) => (i ? [', ', extent] : [extent])), ']']);
}

/** Of a field for the shape of an input of which not even the number of dimensions is known. */
const SHAPE = '[0-9]+(x[0-9]+)*';

export function createSizeFields() {
  const group = element('sizes', HTMLFieldSetElement);
  const list = element('size-fields', HTMLElement);
  /** @type {readonly Port[]} */
  let inputs = [];
  /** @type {Map<string, HTMLInputElement>} */
  let fields = new Map();

  return {
    /**
     * @param {readonly Port[]} ports
     * @returns {number} how many there are to fill in
     */
    show(ports) {
      inputs = ports;
      fields = new Map();
      const lines = freeSizes(ports).map(({ key, label, where, usual }, i) => {
        const field = make('input', { id: `size-${i}`, type: 'number', min: '1', step: '1', required: true });
        field.value = usual === undefined ? '' : String(usual);
        field.dataset.size = label;
        fields.set(key, field);
        return make('label', { className: 'line' }, [
          make('span', {}, [make('b', label), ' ', make('span', { className: 'soft', textContent: where })]),
          field,
        ]);
      });
      const shapeless = ports
        .filter(({ shape }) => !shape)
        .map(({ name }, i) => {
          const field = make('input', { id: `shape-${i}`, type: 'text', required: true, pattern: SHAPE });
          field.placeholder = '1x3x224x224';
          fields.set(name, field);
          return make('label', { className: 'line' }, [make('span', {}, ['shape of ', make('b', name)]), field]);
        });
      list.replaceChildren(...lines, ...shapeless);
      group.hidden = lines.length + shapeless.length === 0;
      return lines.length + shapeless.length;
    },

    /** @returns {Record<string, number[]>} the shapes of the inputs that leave something open */
    shapes() {
      const open = inputs.filter((port) => !port.shape || port.shape.some((_, axis) => isFree(port, axis)));
      return Object.fromEntries(
        open.map((port) => [
          port.name,
          port.shape?.map((extent, axis) =>
            typeof extent === 'number' ? extent : (fields.get(keyOf(port, axis))?.valueAsNumber ?? Number.NaN),
          ) ?? (fields.get(port.name)?.value ?? '').split('x').map(Number),
        ]),
      );
    },
  };
}
