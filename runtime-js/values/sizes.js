// Sizes that a run decides. The compiler writes a size as a number, or with an expression of scalars: the numbers of
// `dimensions`, and what a run computes besides.

import { RunError } from '../errors.js';
import { elementOf, lengthOf, typedArray } from './dtypes.js';

/**
 * @typedef {number | [number] | [string, ...any[]]} Expression a number, a scalar by its number, or an operation
 * @typedef {number | { text: string, most: number, value: Expression }} Size `most` is the largest value
 * @typedef {{ name: string, least: number, most: number, multiple: number, input?: number, after?: Size,
 *   stays?: true, apart?: true, limit?: number, window?: number, droppedOf?: string }} Dimension its scalar counts multiples;
 *   `input` is the number of the input whose element it is, `after` what a run leaves of it in a state; where it `stays` that is
 *   itself, and `apart` it grows by other numbers of rows than what positions count, which are less than `limit`; before a run
 *   that would leave more than the `window` rows are dropped, which that counts which is `droppedOf` it
 * @typedef {{ scalar: number, text: string }} Refusal a branch that does not fit the sizes that the model is compiled for: a
 *   run that takes it leaves another number than 0 in the scalar
 * @typedef {{ name: string, dtype: string, shape: readonly Size[], picture?: number, sound?: number, text?: import('../model.js').TensorInfo['text'],
 *   sampling?: 'options' | 'counts' | 'draws' | 'byCount' | 'byMass' }} Spec
 *   `picture`: the most rows and columns of pictures, which fill it; `sound`: the rate of sounds, which fill it; `text`: what of
 *   a text fills it; `sampling`: what it has of how a token is chosen
 */

/** @type {Readonly<Record<string, (a: number, b: number, c: number) => number>>} */
const operations = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': (a, b) => Math.floor(a / b),
  '%': (a, b) => a - b * Math.floor(a / b),
  '/': (a, b) => Math.trunc(a / b),
  fmod: (a, b) => a % b,
  shl: (a, b) => a << b,
  shr: (a, b) => a >> b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
  '<': (a, b) => Number(a < b),
  '<=': (a, b) => Number(a <= b),
  '==': (a, b) => Number(a === b),
  '!=': (a, b) => Number(a !== b),
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
  not: (a) => Number(!a),
  neg: (a) => -a,
  select: (condition, a, b) => (condition ? a : b),
};

/**
 * @param {Expression} expression
 * @param {readonly number[]} scalars
 * @returns {number}
 */
export function evaluate(expression, scalars) {
  if (typeof expression === 'number') return expression;
  const [head, ...operands] = expression;
  if (typeof head === 'number') return Number(scalars[head]);
  const [a, b, c] = operands.map((operand) => evaluate(operand, scalars));
  return /** @type {any} */ (operations[head])(a, b, c);
}

/**
 * A shape in a run with these scalars.
 * @param {readonly Size[]} shape
 * @param {readonly number[]} scalars
 */
export const shapeOf = (shape, scalars) =>
  shape.map((size) => (typeof size === 'number' ? size : Math.max(0, evaluate(size.value, scalars))));

/**
 * The shape that memory is laid out for.
 * @param {readonly Size[]} shape
 */
export const extentsOf = (shape) => shape.map((size) => (typeof size === 'number' ? size : size.most));

/**
 * @param {readonly Refusal[] | undefined} refusals
 * @param {readonly (number | undefined)[]} scalars after a run
 * @throws {RunError} where the run took a branch that it may not
 */
export function checkRefusals(refusals, scalars) {
  const text = refusals?.find(({ scalar }) => scalars[scalar])?.text;
  if (text) throw new RunError('refused', text);
}

/** @param {readonly Size[]} shape */
export const varies = (shape) => shape.some((size) => typeof size !== 'number');

/**
 * Arrays of zeros of the largest sizes, and the scalars of these.
 * @param {{ inputs: readonly Spec[], dimensions: readonly Dimension[] }} plan
 * @returns {[import('../model.js').TypedArray[], number[]]}
 */
export function emptyInputs({ inputs, dimensions }) {
  const scalars = dimensions.map(({ most, multiple }) => most / multiple);
  const arrays = inputs.map(({ dtype, shape }) => {
    const length = lengthOf(shapeOf(shape, scalars));
    return typedArray(dtype, new ArrayBuffer(length * elementOf(dtype).bytes));
  });
  return [arrays, scalars];
}

/**
 * As users have it.
 * @param {readonly Size[]} shape
 */
export const shownShape = (shape) => shape.map((size) => (typeof size === 'number' ? size : size.text));
