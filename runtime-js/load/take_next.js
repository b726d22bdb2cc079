// Another backend in place of one that is given up after the load: its kernels give wrong results now, or its GPU is gone.
// States are gone with it, until they are made anew.
import { RunError, UnsupportedError } from '../errors.js';
import { reasonOf } from '../fetch/unless_aborted.js';
import { copiesOf, tagOf } from '../values/dtypes.js';
// <pictures>
import { drawn } from '../values/pictures.js';

// </pictures>

/** @typedef {import('./load.js').Manifest} Manifest */
/** @typedef {import('./load.js').Part} Part */
/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../start_session.js').Notice} Notice */
/** @typedef {import('../start_session.js').Session} Session */
/** @typedef {Error & { faults?: import('../model.js').KernelFault[], code?: string }} Fault why the backend is given up; of one with `faults`
 *   the console has had a warning */
/** @typedef {{ name: 'run' | 'profile' | 'keep', inputs: any[], more: any[] }} Call of a session, with inputs as they were then */
/** @typedef {(fault: any, call: Call) => Promise<any>} Again makes a call that failed on the next backend */
/**
 * @typedef {object} Following What a model has that goes on by another backend.
 * @property {Manifest} manifest
 * @property {readonly Part[]} parts in order of preference
 * @property {any} info
 * @property {AbortSignal} life
 * @property {import('./start_first.js').Start} start
 * @property {typeof import('./start_first.js').startFirst} startFirst
 * @property {(notice: Notice) => void} notify
 * @property {(session: Session, part?: Part) => void} put takes the place of the model's session; no part as long as it waits for one
 * @property {(session: Session) => Session} follow one that another backend follows, where it is given up
 */

/** @type {WeakMap<Session, Again>} by the session that was given up */
const followed = new WeakMap();

/** Sessions that the page makes after the first backend, of which each numbers its own from 0. */
let made = 0;

/**
 * Gives a backend up, once, and makes a call that failed there on the next one. Runs that begin from now on wait for that.
 * @param {Following} model
 * @param {Session} own
 * @param {Set<Promise<any>>} under calls of it that are under way
 * @param {Fault | Extract<Notice, { canaries: any }>} why
 * @param {Call} [call] none where it was found between calls
 */
export async function takeNext(model, own, under, why, call) {
  const fault =
    'canaries' in why
      ? Object.assign(new UnsupportedError('wrong-results', String(why.reason)), { faults: why.canaries.failed })
      : why;
  // After what nothing but this device has, it may be had again: the next run finds out.
  if (call && fault.code === 'lost' && call.inputs.some((one) => tagOf(one).startsWith('GPU'))) throw fault;
  let again = followed.get(own);
  if (!again) {
    again = giveUp(model, own, under, fault);
    followed.set(own, again);
  }
  return call && again(fault, call);
}

/**
 * @param {Following} model
 * @param {Session} own
 * @param {Set<Promise<any>>} under
 * @param {Fault} fault
 * @returns {Again}
 */
function giveUp(model, own, under, fault) {
  const { manifest, parts, info, life, start, startFirst, notify, put, follow } = model;
  const { message, faults } = fault;
  const { backend } = info;
  const rest = parts.slice(parts.findIndex((part) => part.backend === backend) + 1);
  if (!rest.length)
    return async (fault) => {
      throw fault;
    };
  if (!faults) console.warn(`${backend} is given up, and the next backend is taken: ${message}`);
  let ended = false;
  const end = () => {
    if (!ended) own.dispose();
    ended = true;
  };
  const begin = async () => {
    await Promise.allSettled(under); // calls that fail give their inputs back
    end();
    const next = await startFirst(rest, start, manifest.weights, life);
    if (life.aborted) {
      next.dispose();
      throw reasonOf(life);
    }
    const part = /** @type {Part} */ (parts.find((part) => part.backend === next.facts.backend));
    const { passedOver = [], canaries, ...facts } = /** @type {any} */ (next.facts);
    const before = info.canaries?.failed.filter((/** @type {any} */ { action }) => action === 'other-backend');
    const all = [...info.passedOver, { backend, reason: message }, ...passedOver];
    for (const name of Object.keys(own.facts)) delete info[name];
    // <finite>
    if (facts.backend === 'wasm') {
      Object.assign(model, { on: false, hold: undefined }); // nothing is searched or compared there
      if (info.verified) info.verified.every = Number.POSITIVE_INFINITY;
      delete info.verified;
    }
    // </finite>
    Object.assign(info, { passedOver: all, ...facts, kernels: part.kernels, products: part.products });
    // <canaries>
    if (before) info.canaries = { checked: 0, skipped: 0, failed: before };
    // </canaries>
    const taking = { ...next, ...callsOf(manifest, next, info) };
    put(facts.backend === 'wasm' ? taking : follow(taking), part);
    // <canaries>
    if (canaries) notify({ canaries });
    // </canaries>
    const bytes = info.weightBytes;
    notify({ phase: 'ready', loaded: bytes, total: bytes });
    return taking;
  };
  /** @type {Promise<any> | undefined} */
  let beginning;
  const next = () => {
    beginning ??= begin().catch((error) => {
      beginning = undefined; // the next run tries again
      throw error;
    });
    return beginning;
  };
  /** @type {Again} */
  const again = async (fault, { name, inputs, more }) => {
    const [scalars, options] = more;
    // <states>
    if (manifest.states && name !== 'keep') throw lost();
    // </states>
    if (options?.output === 'gpu-buffer' || inputs.some((one) => tagOf(one).startsWith('GPU'))) throw fault;
    const taken = await next();
    if (options?.signal?.aborted) throw reasonOf(options.signal);
    return taken[name](inputs, scalars, ...more.slice(1));
  };
  /** @type {(name: Call['name']) => (inputs: any[], ...more: any[]) => Promise<any>} */
  const waiting =
    (name) =>
    (inputs, ...more) =>
      again(fault, { name, inputs: copiesOf(inputs), more });
  const calls = { run: waiting('run'), profile: waiting('profile'), keep: waiting('keep') };
  put({ ...own, ...calls, device: () => undefined, dispose: end });
  next().catch(() => {}); // the next run says it
  return again;
}

/**
 * The calls of a session that takes the place of another one: its states are none of those before, until they are made anew.
 * @param {Manifest} manifest
 * @param {Session} session
 * @param {any} info
 * @returns {Pick<Session, 'run' | 'profile' | 'keep'>}
 */
function callsOf(manifest, session, info) {
  let place = (/** @type {readonly number[]} */ scalars) => scalars;
  /** @type {Session['keep']} */
  let keep;
  // <states>
  if (manifest.states) {
    const { of, ...others } = statesOf(session, info);
    ({ keep } = others);
    place = (scalars) => [...scalars.slice(0, -1), of(scalars.at(-1))];
  }
  // </states>
  let fit = (/** @type {Input[]} */ inputs) => inputs;
  // <pictures>
  if (session.facts.backend === 'wasm')
    fit = (inputs) =>
      inputs.map((one, i) =>
        tagOf(one) === 'ImageBitmap' && manifest.inputs[i]?.picture
          ? drawn(`input ${i}`, 'ImageBitmap', one).data
          : one,
      );
  // </pictures>
  return {
    run: async (inputs, scalars, options) => session.run(fit(inputs), place(scalars), options),
    profile: async (inputs, scalars, repeat) => session.profile(fit(inputs), place(scalars), repeat),
    ...(keep && { keep }),
  };
}

// <states>
const lost = () =>
  new RunError('state-lost', 'the backend was given up, and the states with it: reset() or loadState() first');

/**
 * The states of a session's backend by the numbers that the page has for them, which are of the backend before, or from -1 on.
 * @param {Session} session
 * @param {{ memoryBytes: number }} info
 */
function statesOf(session, info) {
  const own = /** @type {NonNullable<Session['keep']>} */ (session.keep);
  /** @type {Map<number, number>} */
  const numbers = new Map();
  const of = (/** @type {number | undefined} */ number = Number.NaN) => {
    const found = numbers.get(number);
    if (found === undefined) throw lost();
    return found;
  };
  /** @type {NonNullable<Session['keep']>} */
  const keep = async (arrays, scalars, action, number = --made, from = number, stay = scalars) => {
    /** @type {(session?: number, from?: number) => any} */
    const act = (session, from) => own(arrays, scalars, action, session, from, stay);
    if (action === 'drop') {
      const gone = numbers.get(number);
      numbers.delete(number);
      return gone === undefined ? [Float64Array.of(number, info.memoryBytes)] : act(gone);
    }
    if (action !== 'write' && action !== 'copy') return act(of(number));
    // The first session of a backend is there from the beginning.
    const before = numbers.get(number) ?? (number === 0 ? 0 : undefined);
    const [made] = await act(before, action === 'copy' ? of(from) : undefined);
    const [session, bytes] = /** @type {Float64Array} */ (made);
    numbers.set(number, Number(session));
    return [Float64Array.of(number, Number(bytes))];
  };
  return { of, keep };
}
// </states>
