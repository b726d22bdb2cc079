// The sizes of one run, from its inputs.
import { checkNames } from './check_names.js';
import { shapeOf, shownShape } from './sizes.js';

/** @typedef {import('./sizes.js').Size} Size */
/** @typedef {import('./sizes.js').Dimension} Dimension */
/** @typedef {import('./sizes.js').Spec} Spec */

/**
 * The scalar that a size is a multiple of, and how many of it.
 * @param {Size} size
 * @returns {[scalar: number, factor: number] | undefined}
 */
function alone(size) {
  if (typeof size === 'number' || typeof size.value === 'number') return undefined;
  const [head, a, b] = size.value;
  if (typeof head === 'number') return [head, 1];
  const scalar = [a, b].find((operand) => Array.isArray(operand) && typeof operand[0] === 'number');
  const factor = [a, b].find((operand) => typeof operand === 'number');
  return head === '*' && scalar && factor ? [scalar[0], factor] : undefined;
}

/**
 * The scalar of a dimension that has this size.
 * @param {readonly Dimension[]} dimensions
 * @param {number} scalar
 * @param {number} size
 * @param {string} what says so, for errors
 * @returns {number}
 * @throws {RangeError} where the model was not compiled for that
 */
function checkSize(dimensions, scalar, size, what) {
  const { name, least, most, multiple } = /** @type {Dimension} */ (dimensions[scalar]);
  const says = `${what} makes ${name} ${size}`;
  if (!Number.isInteger(size)) throw new RangeError(`${says}, which is no whole number`);
  if (size < least || size > most) {
    const sizes = least < most ? `${least} to ${most}` : `${most} only`;
    throw new RangeError(`${says}, and the model was compiled for ${sizes}`);
  }
  if (size % multiple) throw new RangeError(`${says}, and the model was compiled for multiples of ${multiple}`);
  return size / multiple;
}

/**
 * The shapes of inputs where dimensions have these sizes, by name.
 * @param {readonly Dimension[]} dimensions
 * @param {readonly Spec[]} specs
 * @param {Readonly<Record<string, number>>} [sizes]
 * @returns {Record<string, number[]>}
 */
function shapesFor(dimensions, specs, sizes = {}) {
  checkNames(
    'inputShapes',
    sizes,
    dimensions.map(({ name }) => name),
    'dimension',
  );
  const scalars = dimensions.map(({ name, after }, scalar) => {
    const size = after === undefined ? sizes[name] : (sizes[name] ?? 0);
    if (typeof size !== 'number') throw new TypeError(`inputShapes: how long is ${name}? Give { ${name}: a number }`);
    return checkSize(dimensions, scalar, size, 'the size given');
  });
  return Object.fromEntries(specs.map(({ name, shape }) => [name, shapeOf(shape, scalars)]));
}

/**
 * @typedef {object} Passed What a run passes for an input.
 * @property {readonly number[]} [shape] where the caller says it
 * @property {number} [length] elements, where it is an array
 * @property {unknown} [element] the first of an array
 */

/**
 * The scalars of `dimensions`, from the inputs of a run: shapes, elements, and lengths that leave one choice.
 * @param {readonly Dimension[]} dimensions
 * @param {readonly Spec[]} specs
 * @param {readonly Passed[]} inputs
 * @param {readonly (number | undefined)[]} lengths scalars of those that runs before have left
 * @returns {number[]}
 * @throws {TypeError} where a size stays unknown
 * @throws {RangeError} where sizes contradict each other, or are out of range
 */
function bindSizes(dimensions, specs, inputs, lengths = []) {
  /** @type {(number | undefined)[]} */
  const scalars = dimensions.map((_, scalar) => lengths[scalar]);
  /** @type {string[]} */
  const by = [];
  const numberOf = (/** @type {Size} */ size) => {
    if (typeof size === 'number') return size;
    const [n] = shapeOf([size], /** @type {number[]} */ (scalars));
    return Number.isNaN(n) ? undefined : n;
  };
  /** @type {(scalar: number, n: number, what: string) => void} */
  const bind = (scalar, n, what) => {
    const { name, multiple } = /** @type {Dimension} */ (dimensions[scalar]);
    checkSize(dimensions, scalar, n * multiple, what);
    const before = scalars[scalar];
    if (before !== undefined && before !== n) {
      const other = by[scalar] ?? 'what runs before have left';
      throw new RangeError(`${what} makes ${name} ${n * multiple}, but ${other} makes it ${before * multiple}`);
    }
    scalars[scalar] = n;
    by[scalar] ??= what;
  };
  const nameOf = (/** @type {number} */ i) => `input ${JSON.stringify(specs[i]?.name)}`;
  dimensions.forEach(({ input, multiple }, scalar) => {
    const element = input === undefined ? undefined : inputs[input]?.element;
    if (element !== undefined) bind(scalar, Number(element) / multiple, `the element of ${nameOf(Number(input))}`);
  });
  inputs.forEach(({ shape }, i) => {
    const sizes = /** @type {Spec} */ (specs[i]).shape;
    if (shape && shape.length !== sizes.length) {
      throw new RangeError(`${nameOf(i)}: expected shape [${shownShape(sizes)}], got [${shape}]`);
    }
    shape?.forEach((n, axis) => {
      const [scalar, factor] = alone(/** @type {Size} */ (sizes[axis])) ?? [];
      if (scalar !== undefined && factor) bind(scalar, n / factor, `${nameOf(i)} of shape [${shape.join(', ')}]`);
    });
  });
  // Lengths that leave one size open: each that is found may settle another.
  for (let before = -1, open = scalars.length; open && open !== before; ) {
    before = open;
    inputs.forEach(({ shape, length }, i) => {
      const sizes = /** @type {Spec} */ (specs[i]).shape;
      const unknown = sizes.filter((size) => numberOf(size) === undefined);
      const [scalar, factor] = (unknown.length === 1 && alone(/** @type {Size} */ (unknown[0]))) || [];
      if (shape || length === undefined || scalar === undefined || !factor) return;
      const others = sizes.reduce((/** @type {number} */ product, size) => product * (numberOf(size) ?? 1), factor);
      if (others) bind(scalar, length / others, `${nameOf(i)} of length ${length}`);
    });
    open = scalars.filter((n) => n === undefined).length;
  }
  const missing = dimensions.filter((_, scalar) => scalars[scalar] === undefined);
  if (missing.length) {
    const names = missing.map(({ name }) => name).join(' and ');
    const i = specs.findIndex(({ shape }) => shape.some((size) => numberOf(size) === undefined));
    const { name, shape } = /** @type {Spec} */ (specs[i] ?? specs[0]);
    throw new TypeError(
      `the lengths of the arrays do not say how long ${names} ${missing.length > 1 ? 'are' : 'is'}; ` +
        `give { ${JSON.stringify(name)}: { data, shape: [${shownShape(shape).join(', ')}] } }`,
    );
  }
  return /** @type {number[]} */ (scalars);
}

export const sizes = { bind: bindSizes, shapesFor };
