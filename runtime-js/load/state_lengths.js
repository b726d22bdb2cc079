// How long the states of a model are: before a run, and after it.

import { StateFullError } from '../errors.js';
import { shapeOf } from '../values/sizes.js';

/** @typedef {(number | undefined)[]} Lengths scalars of dimensions, those that states have */

/**
 * @param {Required<Pick<import('./load.js').Manifest, 'dimensions' | 'states'>>} manifest
 */
export function stateLengths({ dimensions, states }) {
  const zeros = dimensions.map(({ after }) => (after === undefined ? undefined : 0));
  const growing = zeros.indexOf(0);
  const used = states.map(({ shape }) =>
    shape.flatMap((size) => (typeof size === 'number' ? [] : scalarsIn(size.value))),
  );
  // Sizes of states that the other inputs of a run decide, such as a batch's.
  const shared = dimensions.map((_, i) => zeros[i] === undefined && used.some((scalars) => scalars.includes(i)));
  const fixed = states.filter((_, i) => !used[i]?.some((scalar) => zeros[scalar] === 0));

  /** @type {(lengths: Lengths, held?: Lengths) => number[]} */
  const scalarsOf = (lengths, held = []) =>
    dimensions.map(({ least, multiple }, i) => lengths[i] ?? held[i] ?? least / multiple);

  /**
   * The lengths that a run leaves; NaN where it is a run that computes them.
   * @param {readonly number[]} scalars
   */
  const leftBy = (scalars) =>
    dimensions.map(({ after, multiple }) =>
      after === undefined ? undefined : Math.floor(Number(shapeOf([after], scalars)[0]) / multiple),
    );

  /**
   * @param {Lengths} lengths
   * @param {Lengths} next
   * @param {number} [dropped] rows of the states that grow
   * @throws {StateFullError}
   */
  const checkRoom = (lengths, next, dropped = 0) => {
    dimensions.forEach(({ name, least, most, multiple, window, limit = Number.POSITIVE_INFINITY }, i) => {
      const [length, left] = [Number(lengths[i]) * multiple, Number(next[i]) * multiple];
      const full = (/** @type {number} */ rows, /** @type {string} */ why, /** @type {string} */ advice) =>
        new StateFullError(
          'state-full',
          `the state is full: ${name} is ${rows}${why}; reset it, rewind it, or ${advice}`,
        );
      if (length > most && window === undefined)
        throw full(
          length,
          `, and the model was compiled for at most ${most}`,
          `compile with a larger --dim ${name}=${least}..N`,
        );
      const [before, after] = [length, left].map((rows) => rows + (i === growing ? dropped : 0));
      if (Number(after) > limit)
        throw full(Number(before), ` and would become ${after}, and the model has ${limit} positions`, 'run with less');
    });
  };

  return { zeros, growing, shared, fixed, scalarsOf, leftBy, checkRoom };
}

/** @type {(expression: import('../values/sizes.js').Expression) => number[]} the numbers of the scalars in it */
const scalarsIn = (expression) => {
  if (typeof expression === 'number') return [];
  const [head, ...operands] = expression;
  return typeof head === 'number' ? [head] : operands.flatMap(scalarsIn);
};
