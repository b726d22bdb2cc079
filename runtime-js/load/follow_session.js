// A session that another one may follow, on the next backend.
import { copiesOf } from '../values/dtypes.js';
import { givenBack } from '../worker/given_back.js';

/** @typedef {import('../start_session.js').Session} Session */

/**
 * A session whose calls are made on the next backend where its own is lost, or computes wrongly.
 * @param {import('../verify/non_finite.js').Watch & import('./take_next.js').Following} watch
 * @param {Session} own
 * @param {boolean} inWorker which gives inputs back with an error
 * @returns {Session}
 */
export function followSession(watch, own, inWorker) {
  const under = new Set();
  /** @type {NonNullable<Session['giveUp']>} */
  const giveUp = (fault, call) =>
    import('./take_next.js').then(
      (script) => script.takeNext(watch, own, under, fault, call),
      () => {
        if (call) throw fault;
      },
    );
  /** @type {any} */
  const guarded = { ...own, giveUp };
  for (const name of /** @type {const} */ (['run', 'profile', 'keep']))
    guarded[name] = (/** @type {any[]} */ inputs, /** @type {any[]} */ ...more) => {
      const copies = inWorker ? [] : copiesOf(inputs);
      const going = /** @type {any} */ (own)[name](inputs, ...more);
      under.add(going);
      return going
        .finally(() => under.delete(going))
        .catch((/** @type {any} */ fault) => {
          if (!fault.faults && fault.code !== 'lost') throw fault;
          return giveUp(fault, { name, inputs: givenBack.get(fault) ?? copies, more });
        });
    };
  return guarded;
}
