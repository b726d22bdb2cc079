// Runs that are carried out once more, on the GPU and on wasm: of the same inputs, and on states like those that they found.

import { shapeOf } from '../values/sizes.js';

/** @typedef {import('../load/load.js').Manifest} Manifest */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../start_session.js').Session} Session */
/**
 * @typedef {object} Turn A run that is under way: no other run of its session begins until it is over.
 * @property {Input[]} data its inputs, in the order of the manifest's
 * @property {readonly number[]} scalars of its sizes, and with states its session
 * @property {boolean} [ahead] it was launched before its turn
 * @property {string} [output] where its outputs go, as the options of `run` say
 */
/** @typedef {any[]} States arrays in the order of the manifest's, each with its shape */

/** @type {(data: Input[]) => any[]} copies of arrays, which are the caller's; one that was transferred has nothing to copy */
export const copiesOf = (data) =>
  data.map((one) => (ArrayBuffer.isView(one) && one.byteLength ? /** @type {any} */ (one).slice() : one));

/** @type {(manifest: Manifest, turn: Turn) => Record<string, any>} */
export const inputsOf = ({ inputs }, { data, scalars }) =>
  Object.fromEntries(
    inputs.map(({ name, shape }, i) => {
      const one = data[i];
      return [name, ArrayBuffer.isView(one) ? { data: one, shape: shapeOf(shape, scalars) } : one];
    }),
  );

// <states>
/**
 * Whether a run leaves the states that it found, and writes rows behind them, or marks that it would write again.
 * @type {(manifest: Manifest) => boolean}
 */
export function leavesStates({ states = [], dimensions = [] }) {
  /** @type {(expression: any) => boolean} */
  const grows = (expression) =>
    Array.isArray(expression) &&
    (expression.length === 1 ? dimensions[expression[0]]?.after !== undefined : expression.some(grows));
  return states.every(({ shape, stays }) => stays || shape.some((size) => grows(Object(size).value)));
}

/** @type {(session: Session, turn: Turn) => Promise<States>} states of the session, as many rows as the run finds */
export const statesOf = async ({ keep }, { scalars }) =>
  /** @type {any} */ (await keep?.([], scalars.slice(0, -1), 'read', scalars.at(-1)));

// <generate>
/**
 * A turn that is over, whose states are those that it has left.
 * @param {Manifest} manifest
 * @param {Turn} turn
 * @param {readonly any[]} results
 * @returns {Turn}
 */
export function turnAfter({ outputs, dimensions = [], measured = [] }, turn, results) {
  const found = [...turn.scalars];
  measured.forEach(({ scalar = 0 }, i) => {
    [found[scalar]] = results[outputs.length + i];
  });
  const left = dimensions.map(({ after, multiple }, i) =>
    after === undefined ? found[i] : Math.floor(Number(shapeOf([after], found)[0]) / multiple),
  );
  return { ...turn, scalars: [.../** @type {number[]} */ (left), Number(found.at(-1))] };
}
// </generate>

/**
 * States as `loadState` takes them.
 * @param {Manifest} manifest
 * @param {Turn} turn
 * @param {States} arrays
 */
export function savedOf({ states = [], dimensions = [] }, { scalars }, arrays) {
  const saved = Object.fromEntries(states.map(({ name }, i) => [name, { data: arrays[i], shape: arrays[i].shape }]));
  // <newest>
  dimensions.forEach(({ name, multiple, droppedOf }, i) => {
    if (droppedOf !== undefined) Object.assign(saved, { [name]: [Number(scalars[i]) * multiple] });
  });
  // </newest>
  return saved;
}
// </states>

/**
 * The outputs of a run on the device, once more.
 * @param {Session} session
 * @param {Turn} turn
 * @param {States | undefined} states of a model that has any
 * @param {number} [number] of the session whose states these become; none: one for this run alone
 * @returns {Promise<readonly any[]>}
 */
export async function repeat(session, { data, scalars }, states, number) {
  // <states>
  if (states) {
    const { keep, run } = /** @type {Required<Session>} */ (session);
    const sizes = scalars.slice(0, -1);
    const [made] = await keep(states, sizes, 'write', number);
    const own = Number(/** @type {any} */ (made)[0]);
    try {
      return await run(data, [...sizes, own]);
    } finally {
      if (number === undefined) await keep([], [], 'drop', own);
    }
  }
  // </states>
  return session.run(data, scalars);
}

/**
 * The outputs of a run on wasm.
 * @param {any} reference
 * @param {Record<string, any>} inputs
 * @param {Record<string, any>} [saved] states of a model that has any
 * @returns {Promise<Record<string, any>>}
 */
export async function repeatOnWasm(reference, inputs, saved) {
  // <states>
  if (saved) {
    const session = await reference.session();
    try {
      await session.loadState(saved);
      const results = await session.run(inputs);
      // <generate>
      if (reference.generate) Object.assign(results, await session.saveState()); // what a step leaves is compared, too
      // </generate>
      return results;
    } finally {
      await session.dispose();
    }
  }
  // </states>
  return reference.run(inputs);
}
