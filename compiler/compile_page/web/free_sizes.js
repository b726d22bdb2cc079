// Sizes that a model's inputs leave open, and the form fields for them.

import { element, make } from './elements.js';

/** @typedef {import('./types.js').Port} Port */
/** @typedef {import('./types.js').Dim} Dim */
/** @typedef {Record<string, (number | string)[]>} Shapes */
/**
 * @typedef {object} FreeSize
 * @property {string} name the model's, or one made up, for a size that only a shape can fix
 * @property {boolean} declared whether it is the model's
 * @property {string} where the inputs that have it
 * @property {number | undefined} usual
 */

/** Names that --dim and --shape accept. */
const NAME = /[A-Za-z_]\w*/g;
const EXPRESSION = /^[\w\s()*+/-]+$/;

/** @param {string | null} extent */
const isName = (extent) => extent?.match(NAME)?.[0] === extent;

/**
 * A name stands for one size, in however many inputs; a size without a name for itself. Expressions of names that are
 * sizes themselves, such as 'past + length', follow from these.
 * @param {readonly Port[]} inputs
 * @returns {{ sizes: FreeSize[], shapes: Shapes }} `shapes` of the inputs with names that are made up
 */
function findOpen(inputs) {
  const extents = inputs.flatMap(({ shape }) => shape ?? []);
  const names = new Set(extents.filter((extent) => typeof extent === 'string' && isName(extent)));
  /** @type {(text: string) => boolean} */
  const follows = (text) => EXPRESSION.test(text) && (text.match(NAME) ?? ['']).every((name) => names.has(name));
  const makeName = () => {
    let i = 1;
    while (names.has(`N${i}`)) i++; // without an x, which stands between the sizes of --shape
    names.add(`N${i}`);
    return `N${i}`;
  };
  /** By name, or input and axis. @type {Map<string, FreeSize>} */
  const sizes = new Map();
  /** @type {Shapes} */
  const shapes = {};
  for (const { name: input, shape } of inputs) {
    const named = shape?.map((extent, axis) => {
      if (typeof extent === 'number') return extent;
      if (extent && !isName(extent) && follows(extent)) return extent;
      const where = `${input}, dimension ${axis + 1}`;
      const usual = axis === 0 || /batch|^n$/i.test(extent ?? '') ? 1 : undefined;
      const key = extent ? `= ${extent}` : where;
      const before = sizes.get(key);
      const declared = isName(extent);
      const name = before?.name ?? (extent && declared ? extent : makeName());
      const text = before ? `${before.where}; ${where}` : extent && !declared ? `${extent}: ${where}` : where;
      sizes.set(key, { name, declared, where: text, usual: before?.usual ?? usual });
      return name;
    });
    const invented = [...sizes.values()].filter(({ declared }) => !declared);
    if (named && invented.some(({ name }) => named.includes(name))) shapes[input] = named;
  }
  return { sizes: [...sizes.values()], shapes };
}

/** @param {Port} port as text, with the sizes that are free in italics */
export function shapeElement({ shape }) {
  if (!shape) return make('span', {}, [make('i', 'any shape')]);
  const extents = shape.map((extent) => (typeof extent === 'number' ? String(extent) : make('i', extent || '?')));
  return make('span', {}, ['[', ...extents.flatMap((extent, i) => (i ? [', ', extent] : [extent])), ']']);
}

/** A size as --dim reads it. */
const SIZE = '([0-9]+)([.][.]([0-9]+))?(,multiple=([0-9]+))?';
/** Pattern of a field for the shape of an input whose number of dimensions is unknown, too. */
const SHAPE = '[0-9]+(x[0-9]+)*';

/**
 * @param {string} text of the pattern SIZE
 * @returns {Dim}
 */
function parseSize(text) {
  const [, least, , most = least, , multiple] = text.match(SIZE) ?? [];
  if (multiple) return [Number(least), Number(most), Number(multiple)];
  return text.includes('..') ? [Number(least), Number(most)] : Number(least);
}

export function createSizeFields() {
  const group = element('sizes', HTMLFieldSetElement);
  const list = element('size-fields', HTMLElement);
  /** @type {ReturnType<typeof findOpen>} */
  let open = { sizes: [], shapes: {} };
  /** @type {HTMLInputElement[]} */
  let sizeFields = [];
  /** By input. @type {Map<string, HTMLInputElement>} */
  let shapeFields = new Map();

  return {
    /**
     * @param {readonly Port[]} ports
     * @returns {number} how many there are to fill in
     */
    show(ports) {
      open = findOpen(ports);
      sizeFields = open.sizes.map(({ usual = '' }, i) =>
        make('input', {
          ...{ id: `size-${i}`, type: 'text', required: true, pattern: SIZE, value: String(usual) },
          ...{ placeholder: '1..512', title: 'a number, a range 1..512, or multiples 8..512,multiple=8' },
        }),
      );
      const lines = open.sizes.map(({ name, where }, i) =>
        make('label', { className: 'line' }, [
          make('span', {}, [make('b', name), ' ', make('span', { className: 'soft', textContent: where })]),
          /** @type {HTMLInputElement} */ (sizeFields[i]),
        ]),
      );
      const shapeless = ports.filter(({ shape }) => !shape);
      shapeFields = new Map(
        shapeless.map(({ name }, i) => [
          name,
          make('input', {
            ...{ id: `shape-${i}`, type: 'text', required: true, pattern: SHAPE, placeholder: '1x3x224x224' },
          }),
        ]),
      );
      const more = Array.from(shapeFields, ([name, field]) =>
        make('label', { className: 'line' }, [make('span', {}, ['shape of ', make('b', name)]), field]),
      );
      list.replaceChildren(...lines, ...more);
      element('size-note', HTMLElement).hidden = lines.length === 0;
      group.hidden = lines.length + more.length === 0;
      return lines.length + more.length;
    },

    /** @returns {{ shapes: Shapes, dims: Record<string, Dim> }} for `compile` */
    options() {
      /** @type {Map<number | string, number>} */
      const numbers = new Map();
      /** @type {Record<string, Dim>} */
      const dims = {};
      open.sizes.forEach(({ name, declared }, i) => {
        const dim = parseSize(sizeFields[i]?.value ?? '');
        if (typeof dim === 'number') numbers.set(name, dim);
        if (typeof dim !== 'number' || declared) dims[name] = dim;
      });
      const named = Object.entries(open.shapes).map(([input, shape]) => [
        input,
        shape.map((extent) => numbers.get(extent) ?? extent),
      ]);
      const whole = Array.from(shapeFields, ([input, { value }]) => [input, value.split('x').map(Number)]);
      return { shapes: Object.fromEntries([...named, ...whole]), dims };
    },
  };
}
