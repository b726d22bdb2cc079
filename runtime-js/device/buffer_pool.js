// Buffers that values are read back through. Sessions share them: one is in use from a launch until its bytes are read.

/**
 * @template T
 * @typedef {object} Pool
 * @property {(sizes: readonly number[]) => void} prepare buffers of these sizes, so that all can be taken at once
 * @property {(bytes: number) => T} take
 * @property {(bytes: number, buffer: T) => void} give it back
 */

/**
 * A pool that creates what is missing, and keeps it.
 * @template T
 * @param {(bytes: number) => T} create
 * @returns {Pool<T>}
 */
export function createPool(create) {
  /** @type {Map<number, T[]>} */
  const free = new Map();
  const take = (/** @type {number} */ bytes) => free.get(bytes)?.pop() ?? create(bytes);
  const give = (/** @type {number} */ bytes, /** @type {T} */ buffer) => {
    const list = free.get(bytes);
    if (list) list.push(buffer);
    else free.set(bytes, [buffer]);
  };
  const prepare = (/** @type {readonly number[]} */ sizes) => {
    const buffers = sizes.map(take);
    sizes.forEach((bytes, i) => {
      give(bytes, /** @type {T} */ (buffers[i]));
    });
  };
  return { prepare, take, give };
}

/**
 * A pool that keeps nothing.
 * @template T
 * @param {(bytes: number) => T} create
 * @param {(buffer: T) => void} destroy
 * @returns {Pool<T>}
 */
export const keepNothing = (create, destroy) => ({
  prepare() {},
  take: create,
  give: (_, buffer) => destroy(buffer),
});
