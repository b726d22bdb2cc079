// States of which the newest rows stay: how many a run finds, and how many there were ever.

/** @typedef {import('./state_lengths.js').Lengths} Lengths */
/** @typedef {import('../values/sizes.js').Dimension} Dimension */

/**
 * Nothing for a model that keeps all rows: what models may need is there for each in the compile page.
 * @param {readonly Dimension[]} dimensions
 * @param {(scalars: readonly number[]) => Lengths} leftBy the lengths that a run leaves
 */
function open(dimensions, leftBy) {
  const grown = dimensions.findIndex(({ window }) => window !== undefined);
  if (grown < 0) return undefined;
  const counted = dimensions.findIndex(({ droppedOf }) => droppedOf !== undefined);
  const { window = 0, multiple } = /** @type {Dimension} */ (dimensions[grown]);
  const { name, most } = /** @type {Dimension} */ (dimensions[counted]);
  const at = (/** @type {Lengths} */ lengths, /** @type {number} */ i) => Number(lengths[i]) * multiple;
  return {
    /** @param {Lengths} lengths the rows that were dropped */
    dropped: (lengths) => at(lengths, counted),
    /**
     * The scalars of a run that finds no more than the newest rows: half of the window, or as many less as its own rows need,
     * where it would leave more than the window has. So rows are moved once in half a window.
     * @param {number[]} scalars
     */
    within(scalars) {
      const [found, left] = [at(scalars, grown), at(leftBy(scalars), grown)];
      if (left <= window) return scalars;
      const stay = Math.floor(Math.min(Math.floor(window / 2), window - (left - found)) / multiple);
      return scalars.map((n, i) => (i === grown ? stay : i === counted ? n + Number(scalars[grown]) - stay : n));
    },
    /** @param {Lengths} lengths what is saved beside the states */
    saved: (lengths) => ({ [name]: Object.assign(Int32Array.of(at(lengths, counted)), { shape: [] }) }),
    /**
     * The states that were saved, and the length that was saved beside them.
     * @param {any} saved
     * @returns {[any, Lengths]}
     */
    loaded({ [name]: dropped = [0], ...others }) {
      const rows = dropped?.length === 1 ? Number(dropped[0]) : Number.NaN;
      if (!(Number.isInteger(rows / multiple) && rows >= 0 && rows <= most))
        throw new TypeError(`loadState: ${JSON.stringify(name)} is no number of rows, which saveState gives`);
      return [others, dimensions.map((_, i) => (i === counted ? rows / multiple : undefined))];
    },
  };
}

export const newest = { open };
