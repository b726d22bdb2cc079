// Sessions of a model with states: how long these are, and in which order runs and all else change them. What they hold is
// where the model runs.

import { RunError, StateLostError, UnsupportedError } from '../errors.js';
import { reasonOf } from '../fetch/unless_aborted.js';
import { checkInputs } from '../values/check_inputs.js';
import { kindOf } from '../values/check_names.js';
import { copied, copyOfArray } from '../values/copy_inputs.js';
import { shapeOf, shownShape } from '../values/sizes.js';
import { queueRuns } from './queue_runs.js';
import { stateLengths } from './state_lengths.js';

/** @typedef {import('../model.js').Model} Model */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../start_session.js').StateSpec} StateSpec */
/** @typedef {import('../values/sizes.js').Dimension} Dimension */
/** @typedef {import('./state_lengths.js').Lengths} Lengths */
/**
 * @typedef {object} Own what a run needs of its session
 * @property {(values: unknown, start: Start, signal?: AbortSignal, complete?: Complete, of?: object) => Promise<any[]>} begin
 *   `of`: those that follow each other
 * @property {() => Promise<void>} reset
 * @property {(rows: number, most: number, resume: boolean) => void} [checkRows] throws where there is no room for runs of so many
 *   rows, of `most` in one; unless they `resume`, behind a reset
 * @property {number} changes how often its states have become others
 */
/**
 * @typedef {(inputs: Input[], scalars: number[]) => any[] | Promise<any[]>} Launch
 * @typedef {(inputs: Input[], scalars: number[], due: Promise<any[]> | undefined, follow: (values: any, launch: Launch) =>
 *   void) => any[] | Promise<any[]>} Start `due`: what the run before has launched as this one; `follow` launches the next one,
 *   of one row, where nothing says that it could not be taken back
 */
/** @typedef {(values: any, position: number) => any} Complete what a run is given, in its turn: `position` is that before it */
/** @typedef {import('../generate/generate.js').Left} Left */
/** @typedef {(own: Own, left?: Left) => ReturnType<typeof import('../generate/generate.js').generate.open>} GenerateIn */

/**
 * @typedef {object} Shared what the sessions of a model have in common
 * @property {Pick<import('./load.js').Manifest, 'inputs' | 'outputs' | 'dimensions' | 'states' | 'measured'>} manifest
 * @property {() => import('../start_session.js').Session} use
 * @property {AbortSignal} life of the model
 * @property {{ backend: string, worker: boolean, memoryBytes: number }} info
 * @property {typeof import('../values/bind_sizes.js').sizes} [sizes]
 * @property {boolean} [restores] whether states that a GPU loses become those that were saved last
 * @property {typeof import('./newest.js').newest} [newest] of models whose states drop rows
 * @property {(own: Own) => Model['run']} runIn
 * @property {GenerateIn} [generateIn] of models that give tokens
 */

/**
 * @typedef {object} Saved states as they were at a time
 * @property {Input[]} arrays none for the start
 * @property {readonly number[]} scalars
 * @property {Lengths} lengths
 * @property {Lengths} held sizes that runs had decided
 * @property {number} runs
 */

const BROKEN = 'a run failed, and what it left of the states is undefined: reset() or loadState() first';

/** @param {Shared} shared */
function open({ manifest, use, life, info, sizes, newest: rows, restores, runIn, generateIn }) {
  const { inputs: specs, outputs, dimensions = [], states = [], measured = [] } = manifest;
  const { zeros, growing, shared, written, scalarsOf, leftBy, without, ...room } = stateLengths({ dimensions, states });
  let { checkRoom } = room;
  // A run may leave more rows of a state than it may find, for which `checkRoom` has the limit.
  const bounds = dimensions.map((one) => (one.after === undefined ? one : { ...one, most: Number.POSITIVE_INFINITY }));
  // <newest>
  const newest = rows?.open(dimensions, leftBy);
  if (newest) checkRoom = (lengths, next) => room.checkRoom(lengths, next, newest.dropped(lengths));
  // </newest>
  // <generate>
  /** @type {(...lengths: Parameters<typeof checkRoom>) => boolean} */
  const hasRoom = (...lengths) => {
    try {
      checkRoom(...lengths);
      return true;
    } catch {
      return false;
    }
  };
  // </generate>
  /** @type {Saved} */
  const start = { arrays: [], scalars: [], lengths: zeros, held: [], runs: 0 };
  const act = () => /** @type {NonNullable<import('../start_session.js').Session['keep']>} */ (use().keep);
  /**
   * Makes states, of a session that it is the number of, or drops them.
   * @param {'write' | 'copy' | 'drop'} action
   * @param {Input[]} arrays
   * @param {readonly number[]} scalars
   * @param {number} [number] none for a new session
   * @param {number} [from]
   */
  const make = async (action, arrays, scalars, number, from) => {
    const [made] = await act()(/** @type {ArrayBufferView[]} */ (arrays), scalars, action, number, from);
    const [session, bytes] = /** @type {Float64Array} */ (made);
    info.memoryBytes = Number(bytes);
    return Number(session);
  };

  /**
   * @param {number} number
   * @param {Lengths} lengths
   * @param {Lengths} held sizes of states that runs before have decided
   * @param {number} runs
   * @param {boolean} pristine whether the states are as at the start
   * @param {number} changes
   * @param {Left} [left] by `generate`
   * @param {Saved} [last] what was saved, or loaded, or the start
   */
  function create(number, lengths = zeros, held = [], runs = 0, pristine = true, changes = 0, left, last = start) {
    const end = new AbortController();
    const endWithModel = () => end.abort(life.reason);
    life.addEventListener('abort', endWithModel);
    const enqueue = queueRuns(end.signal, true);
    let waiting = 0;
    let broken = '';
    /** @type {(of?: object) => Promise<any[]> | undefined} a run that was launched ahead, if it is this one: else it is taken back */
    let settle = () => undefined;
    // <generate>
    /** @type {{ of: object, results: Promise<any[]> } | undefined} */
    let ahead;
    settle = (of) => {
      const before = ahead;
      ahead = undefined;
      if (!before || before.of === of) return before?.results;
      Promise.resolve(act()([], [], 'undo', number)).catch(() => {}); // of states that are lost the next task says so
      return undefined;
    };
    // </generate>

    const checkWhole = () => {
      if (broken) throw new StateLostError('state-lost', broken);
    };
    /** @type {Own['begin']} */
    const begin = async (values, start, signal, complete, of) => {
      const given = waiting++ || pristine ? copied(values) : values;
      /** @param {Input[]} _ */
      const run = async (_) => {
        checkWhole();
        const whole = complete ? complete(given, kept.position) : given;
        const { values: inputs, scalars: wanted } = checkInputs(specs, whole, info, bounds, sizes, lengths);
        checkRoom(lengths, leftBy(wanted));
        let [before, scalars] = [lengths, wanted];
        // <newest>
        if (newest) scalars = newest.within(wanted);
        // </newest>
        dimensions.forEach(({ name, multiple }, i) => {
          const [then, now] = [Number(held[i]) * multiple, Number(scalars[i]) * multiple];
          if (held[i] !== undefined && then !== now)
            throw new RangeError(`${name} is ${now}, and the states are of runs with ${then}: reset() comes first`);
        });
        const next = leftBy(scalars);
        if (!next.some(Number.isNaN)) lengths = next;
        runs++;
        changes++;
        if (written.length) broken = BROKEN;
        try {
          const due = settle(of);
          // <newest>
          if (scalars !== wanted) {
            await act()([], wanted, 'move', number, undefined, scalars);
            before = before.map((n, i) => (n === undefined ? n : scalars[i]));
          }
          // </newest>
          /** @type {(scalars: number[]) => boolean} */
          let staysInPlace = () => true;
          // <newest>
          staysInPlace = (scalars) => newest?.within(scalars) === (newest && scalars);
          // </newest>
          /** @type {Parameters<Start>[3]} */
          let follow = () => {};
          // <generate>
          follow = (values, launch) => {
            if (!of || written.some(({ stays }) => !stays) || next.some(Number.isNaN)) return;
            const following = checkInputs(specs, values, info, bounds, sizes, next);
            if (!staysInPlace(following.scalars) || !hasRoom(next, leftBy(following.scalars))) return;
            const results = Promise.resolve(launch(following.values, [...following.scalars, number]));
            results.catch(() => {}); // of one that is taken back
            ahead = { of, results };
          };
          // </generate>
          const carry = async () => start(inputs, [...scalars, number], due, follow);
          const results = await carry().catch(async (error) => {
            if (error.code !== 'state-lost' || !pristine) throw error;
            await make('write', [], [], number); // nothing was there that could be lost
            return carry();
          });
          pristine = false;
          measured.forEach(({ scalar = 0 }, i) => {
            [scalars[scalar]] = results[outputs.length + i];
          });
          lengths = leftBy(scalars);
          held = shared.map((is, i) => (is ? scalars[i] : undefined));
          broken = '';
          return results;
        } catch (error) {
          settle();
          lengths = before;
          runs--;
          const { code, message } = /** @type {import('../errors.js').ModelError} */ (error);
          if (error instanceof UnsupportedError) broken = ''; // nothing was computed
          if (code !== 'state-lost') throw error;
          broken = message;
          if (!restores || !(await renew(last).catch(() => false))) checkWhole();
          const where = 'as saveState(), loadState() or reset() left them last';
          throw new StateLostError(
            'state-lost',
            `the GPU was lost in a run: the states are ${where}, at position ${kept.position}`,
          );
        }
      };
      return enqueue([], run, signal).finally(() => waiting--);
    };

    /**
     * Something else, in its turn.
     * @template T
     * @param {(arrays: Input[]) => Promise<T>} task
     * @param {Input[]} [arrays]
     * @returns {Promise<T>}
     */
    const inTurn = async (task, arrays = []) => {
      waiting++;
      const run = async (/** @type {Input[]} */ kept) => {
        settle();
        return [{ value: await task(kept) }];
      };
      const done = enqueue(arrays, run, undefined).finally(() => waiting--);
      return /** @type {{ value: T }} */ ((await done)[0]).value;
    };

    /** @param {Saved} saved */
    const keep = (saved) => {
      if (restores) last = { ...saved, arrays: saved.arrays.map(copyOfArray) };
    };
    /** @param {Saved} saved what the states become */
    const renew = async (saved) => {
      await make('write', saved.arrays, saved.scalars, number);
      pristine = !saved.arrays.length;
      ({ lengths, held, runs } = saved);
      changes++;
      broken = '';
      return true;
    };
    /** @param {Saved} saved */
    const renewAndKeep = async (saved) => {
      keep(saved);
      await renew(saved);
    };

    const fork = () =>
      inTurn(async () => {
        checkWhole();
        const copy = await make('copy', [], [], undefined, number);
        if (end.signal.aborted) await make('drop', [], [], copy); // whoever asked for it has got an error
        return create(copy, lengths, held, runs, pristine, changes, generating?.left(), last);
      });

    const rowsThere = () => Number(lengths[growing]) * Number(dimensions[growing]?.multiple);

    const kept = {
      get position() {
        // <newest>
        if (newest) return rowsThere() + newest.dropped(lengths);
        // </newest>
        return growing < 0 ? runs : rowsThere();
      },
      reset: () => inTurn(() => renewAndKeep(start)),
      saveState: () =>
        inTurn(async () => {
          checkWhole();
          const scalars = scalarsOf(lengths, held);
          const arrays = await act()([], scalars, 'read', number);
          keep({ arrays: /** @type {any} */ (arrays), scalars, lengths, held, runs });
          const saved = Object.fromEntries(states.map(({ name }, i) => [name, arrays[i]]));
          // <newest>
          if (newest) Object.assign(saved, newest.saved(lengths));
          // </newest>
          return saved;
        }),
      /** @param {unknown} saved */
      async loadState(saved) {
        if (kindOf(saved) !== 'an object')
          throw new TypeError(`loadState expects what saveState gave, an array for each state, got ${kindOf(saved)}`);
        let given = saved;
        /** @type {Lengths} */
        let known = [];
        // <newest>
        if (newest) [given, known] = newest.loaded(saved);
        // </newest>
        const unbound = zeros.map((zero, i) => (zero === 0 || shared[i] ? known[i] : 0));
        const { values, scalars } = checkInputs(states, given, info, bounds, sizes, unbound);
        if (!values.every(ArrayBuffer.isView)) throw new TypeError('loadState expects typed arrays');
        for (const { name, shape, room } of states)
          if (shapeOf(shape, scalars).some((n, axis) => n > Number(room[axis])))
            throw new RangeError(`loadState: ${JSON.stringify(name)} has room for [${room.join(', ')}]`);
        const own = zeros.map((zero, i) => (zero === 0 ? scalars[i] : undefined));
        const others = shared.map((is, i) => (is ? scalars[i] : undefined));
        return inTurn((arrays) => renewAndKeep({ arrays, scalars, lengths: own, held: others, runs: 0 }), values);
      },
      /** @param {number} rows */
      rewind: (rows) =>
        inTurn(async () => {
          checkWhole();
          lengths = without(lengths, rows);
          changes++;
        }),
      fork: async () => (await fork()).session,
    };
    const dispose = async () => {
      if (end.signal.aborted) return;
      life.removeEventListener('abort', endWithModel);
      end.abort(new RunError('disposed', 'the session was disposed of'));
      await make('drop', [], [], number);
    };
    /** @type {Own} */
    const own = {
      begin,
      reset: kept.reset,
      get changes() {
        return changes;
      },
    };
    // <generate>
    own.checkRows = (rows, most, resume) => {
      const from = resume ? lengths : zeros;
      const per = Number(dimensions[growing]?.multiple);
      const behind = (/** @type {number} */ more) =>
        from.map((length, i) => (i === growing ? Number(length) + more / per : length));
      checkRoom(behind(rows - (rows % most || most)), behind(rows));
    };
    // </generate>
    const generating = generateIn?.(own, left);
    if (generating) Object.assign(kept, { generate: generating.generate });
    const run = generating?.runIn(runIn) ?? runIn(own);
    const session = withAll({ run, dispose }, kept);
    return { ...(generating?.own ?? own), kept, fork, session };
  }

  const first = create(0);
  return {
    first,
    /**
     * @param {(own: Own) => Promise<any[]>} task with states like those of the first session, which stay as they are
     */
    async onCopy(task) {
      const copy = await first.fork();
      return task(copy).finally(copy.session.dispose);
    },
    /** @param {Model} model gets the methods of its first session */
    extend(model) {
      let published = model.dimensions.map((one) =>
        'after' in one
          ? Object.freeze({ ...one, after: String(shownShape([/** @type {any} */ (one.after)])[0]) })
          : one,
      );
      // <newest>
      published = published.filter((one) => !('droppedOf' in one));
      // </newest>
      withAll(withAll(model, first.kept), {
        run: first.session.run,
        dimensions: published,
        async session() {
          if (life.aborted) throw reasonOf(life);
          return create(await make('write', [], [])).session;
        },
      });
    },
  };
}

/**
 * @template {object} T
 * @template {object} U
 * @param {T} target
 * @param {U} more with getters, which stay such
 * @returns {T & U}
 */
const withAll = (target, more) =>
  /** @type {T & U} */ (Object.defineProperties(target, Object.getOwnPropertyDescriptors(more)));

/**
 * Adds to a plan what concerns states.
 * @param {import('../start_session.js').Ports} plan
 * @param {import('./load.js').Manifest} manifest
 */
function addTo(plan, { states, outputs, measured = [] }) {
  plan.states = states;
  plan.outputs = [...outputs, ...measured];
  plan.numbers++;
}

export const states = { addTo, open };
