// How long the states of a model are: before a run, and after it.

import { StateFullError, UnsupportedError } from '../errors.js';
import { shapeOf } from '../values/sizes.js';

/** @typedef {(number | undefined)[]} Lengths scalars of dimensions, those that states have */

/**
 * @param {Required<Pick<import('./load.js').Manifest, 'dimensions' | 'states'>>} manifest
 */
export function stateLengths({ dimensions, states }) {
  const zeros = dimensions.map(({ after }) => (after === undefined ? undefined : 0));
  const growing = dimensions.findIndex(({ stays }, i) => zeros[i] === 0 && !stays);
  const used = states.map(({ shape }) =>
    shape.flatMap((size) => (typeof size === 'number' ? [] : scalarsIn(size.value))),
  );
  // Sizes of states that the other inputs of a run decide, such as a batch's.
  const shared = dimensions.map((_, i) => zeros[i] === undefined && used.some((scalars) => scalars.includes(i)));

  const written = states.filter(({ overwritten }) => overwritten);

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

  /**
   * The lengths without the last rows, of all that grow as positions do.
   * @param {Lengths} lengths
   * @param {number} rows
   * @throws {UnsupportedError} where not all states have their newest rows at the end, as many of each
   */
  const without = (lengths, rows) => {
    const refuse = (/** @type {readonly { name: string }[]} */ of, /** @type {(names: string) => string} */ why) => {
      const advice = 'saveState() and loadState() take them back';
      throw new UnsupportedError('rewind', `rewind: ${why(of.map(({ name }) => name).join(' and '))}; ${advice}`);
    };
    const grown = dimensions.filter(({ apart }, i) => apart || i === growing);
    if (grown.length > 1) refuse(grown, (names) => `${names} grow by different numbers of rows`);
    const others = written.filter(({ stays }) => !stays);
    if (growing < 0 || others.length)
      refuse(others.length ? others : states, (names) => `a run does not just add rows to the end of ${names}`);
    return dimensions.map(({ name, multiple, stays }, i) => {
      if (zeros[i] === undefined || stays) return lengths[i];
      const there = Number(lengths[i]) * multiple;
      if (!(Number.isInteger(rows) && rows >= 0 && rows <= there && rows % multiple === 0))
        throw new RangeError(`rewind(${rows}): the states have ${there} rows (${name})`);
      return (there - rows) / multiple;
    });
  };

  return { zeros, growing, shared, written, scalarsOf, leftBy, checkRoom, without };
}

/** @type {(expression: import('../values/sizes.js').Expression) => number[]} the numbers of the scalars in it */
const scalarsIn = (expression) => {
  if (typeof expression === 'number') return [];
  const [head, ...operands] = expression;
  return typeof head === 'number' ? [head] : operands.flatMap(scalarsIn);
};
