// The sizes that each run decides: the shapes that follow from them, and the form fields for them.

import { element, make } from './elements.js';

/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('../../../runtime-js/model.js').Dimension} Dimension */
/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {Readonly<Record<string, number>>} Sizes */

const RANDOM_PICTURE = 256; // rows and columns of one that is made up

/** @param {readonly Dimension[]} dimensions @returns {Sizes} */
export const largest = (dimensions) => Object.fromEntries(dimensions.map(({ name, most }) => [name, most]));

/**
 * The model as its first run is, whose states have the least lengths: these are no sizes to choose.
 * @param {Pick<Model, 'inputs' | 'dimensions' | 'inputShapes'>} model
 */
export function atBeginning({ inputs, dimensions, inputShapes }) {
  const [kept, chosen] = [true, false].map((has) => dimensions.filter(({ after }) => (after !== undefined) === has));
  const first = Object.fromEntries((kept ?? []).map(({ name, least }) => [name, least]));
  return {
    inputs,
    dimensions: chosen ?? [],
    /** @param {Sizes} [sizes] */
    inputShapes: (sizes) => inputShapes({ ...first, ...sizes }),
  };
}

/**
 * @param {Pick<Model, 'inputs' | 'inputShapes'>} model
 * @param {Sizes} sizes
 * @returns {TensorInfo[]}
 * @throws {RangeError} for sizes that the model was not compiled for
 */
export function inputsAt({ inputs, inputShapes }, sizes) {
  const shapes = inputShapes(sizes);
  return inputs.map((input) => ({ ...input, shape: shapes[input.name] ?? [] }));
}

/**
 * The dimensions that pictures and sounds have, which come with these.
 * @param {Pick<Model, 'inputs' | 'dimensions' | 'inputShapes'>} model
 */
function ofMedia({ inputs, dimensions, inputShapes }) {
  const plain = inputs.filter(({ picture, sound }) => picture === undefined && sound === undefined);
  const usual = largest(dimensions);
  const shapesOf = (/** @type {Sizes} */ sizes) => {
    const shapes = inputShapes(sizes);
    return plain.map(({ name }) => shapes[name]).join(';');
  };
  return dimensions.filter(
    ({ name, least, input }) =>
      plain.length < inputs.length && input === undefined && shapesOf({ ...usual, [name]: least }) === shapesOf(usual),
  );
}

/**
 * The sizes with which an input has this shape, which may lack ones in front or have some too many; others stay.
 * @param {Pick<Model, 'dimensions' | 'inputShapes'>} model
 * @param {string} input
 * @param {readonly number[]} shape
 * @param {Sizes} before
 * @returns {Sizes}
 */
export function sizesFor({ dimensions, inputShapes }, input, shape, before) {
  const usual = largest(dimensions);
  const long = inputShapes(usual)[input] ?? [];
  const entries = dimensions.map(({ name, least, most }) => {
    const short = inputShapes({ ...usual, [name]: least })[input] ?? [];
    const axis = long.findIndex((extent, i) => extent !== short[i]);
    const [low = 0, high = 0] = [short[axis], long[axis]];
    const extent = shape[axis + shape.length - long.length] ?? 1;
    return [name, axis < 0 ? before[name] : least + ((extent - low) * (most - least)) / (high - low)];
  });
  return Object.fromEntries(entries);
}

/** @param {Dimension} dimension */
export const rangeText = ({ least, most, multiple }) =>
  `${least} to ${most}${multiple === 1 ? '' : `, multiples of ${multiple}`}`;

/** @param {() => void} changed */
export function createRunSizes(changed) {
  const group = element('run-sizes', HTMLFieldSetElement);
  const list = element('run-size-fields', HTMLElement);
  /** @type {Map<string, HTMLInputElement>} */
  let fields = new Map();
  /** @type {Sizes} */
  let media = {};
  group.addEventListener('change', changed);

  return {
    /** @param {Pick<Model, 'inputs' | 'dimensions' | 'inputShapes'>} model whose sizes begin at the largest */
    show(model) {
      const hidden = ofMedia(model);
      const hasSound = model.inputs.some(({ sound }) => sound !== undefined);
      media = Object.fromEntries(
        hidden.map(({ name, most }) => [name, hasSound ? most : Math.min(most, RANDOM_PICTURE)]),
      );
      fields = new Map();
      const lines = model.dimensions
        .filter((one) => !hidden.includes(one))
        .map((dimension) => {
          const { name, least, most, multiple } = dimension;
          const range = { type: 'number', min: String(least), max: String(most), step: String(multiple) };
          const field = make('input', { ...range, value: String(most) });
          field.dataset.dimension = name;
          fields.set(name, field);
          return make('label', { className: 'line' }, [
            make('span', {}, [
              make('b', name),
              ' ',
              make('span', { className: 'soft', textContent: rangeText(dimension) }),
            ]),
            field,
          ]);
        });
      list.replaceChildren(...lines);
      group.hidden = lines.length === 0;
    },
    /** @returns {Sizes} */
    values: () => ({
      ...media,
      ...Object.fromEntries(Array.from(fields, ([name, field]) => [name, field.valueAsNumber])),
    }),
    /** @param {Sizes} sizes */
    set(sizes) {
      media = Object.fromEntries(Object.keys(media).map((name) => [name, sizes[name] ?? Number.NaN]));
      for (const [name, field] of fields) field.valueAsNumber = sizes[name] ?? Number.NaN;
    },
  };
}
