// The states of sessions on a device: each session has storages of its own for them, and shares all others. Those of a device
// that is lost are lost with it, until they are made anew.
import { DeviceLostError, RunError } from '../errors.js';
import { narrow, widen, words } from '../values/convert.js';
import { lengthOf } from '../values/dtypes.js';
import { numbersIn, storedIn } from '../values/halves.js';
// <newest>
import { moveRows } from '../values/move_rows.js';
// </newest>
import { shapeOf } from '../values/sizes.js';
import { reachOf, runsOf } from '../values/strided.js';
import { withDevice } from './build_device.js';
import { denseOf } from './carry_out.js';
import { at, storageOf, valueAt, whole as wholeWords } from './device_program.js';
import { prepareSegments } from './play_steps.js';
// <generate>
import { undo } from './run_ahead.js';

// </generate>

/** @typedef {import('./build_device.js').Built} Built */
/** @typedef {import('./build_device.js').State} State */
/** @typedef {{ of: Built, sessions: Map<number, Built>, made: number }} Kept what each session has on a device, and how many there were ever */

/**
 * The first device has the first session from the beginning.
 * @param {State} state
 * @param {Built} now
 */
function keptOn(state, now) {
  if (state.kept?.of === now) return state.kept;
  const sessions = new Map(state.kept ? [] : [[0, now]]);
  if (!state.kept) now.device.clearStates?.(); // memory that a faulty driver did not zero
  state.kept = { of: now, sessions, made: state.kept?.made ?? 0 };
  return state.kept;
}

/** @param {string} why */
const lost = (why) => new RunError('state-lost', `${why}, and the states with it: reset() or loadState() first`);

/**
 * @param {Kept} kept
 * @param {number} session
 */
function find({ sessions }, session) {
  const own = sessions.get(session);
  if (!own) throw lost('the GPU was lost');
  return own;
}

/**
 * Carries out a run in the session that is the last of its scalars; never once more, where the device is lost.
 * @template T
 * @param {State} state
 * @param {readonly number[]} scalars
 * @param {(now: Built) => Promise<T>} task
 * @returns {Promise<T>}
 */
export async function withSession(state, scalars, task) {
  const session = scalars[state.plan.dimensions.length] ?? 0; // a warm-up names none
  try {
    return await withDevice(state, false, (now) => task(find(keptOn(state, now), session)));
  } catch (error) {
    throw error instanceof DeviceLostError ? lost(error.message) : error;
  }
}

/**
 * @param {State} state
 * @param {Built} now
 * @param {readonly ArrayBufferView[]} arrays
 * @param {readonly number[]} scalars
 * @param {import('../start_session.js').Action} action
 * @param {number} [session]
 * @param {number} [from]
 * @param {readonly number[]} [stay] the scalars of what `move` leaves
 * @returns {Promise<import('../start_session.js').Output[]>}
 */
export async function keepStates(state, now, arrays, scalars, action, session, from, stay = scalars) {
  const kept = keptOn(state, now);
  const { sessions } = kept;
  const number = session ?? ++kept.made;
  // <generate>
  if (action === 'undo') {
    undo(find(kept, number));
    return [];
  }
  // </generate>
  if (action === 'read') return readStates(find(kept, number), scalars);
  // <newest>
  if (action === 'move') return moveStates(find(kept, number), scalars, stay);
  // </newest>
  if (action === 'drop') {
    sessions.get(number)?.device.dispose();
    sessions.delete(number);
  } else {
    const source = action === 'copy' ? find(kept, from ?? number) : undefined;
    // The first session has the storages of the device itself.
    const own = sessions.get(number) ?? (number ? await create(now) : now);
    if (source) own.device.copyStates?.(source.device.held);
    else own.device.clearStates?.();
    if (arrays.length) writeStates(own, arrays, scalars);
    sessions.set(number, own);
  }
  const sizes = now.program.storages.filter(({ prepareOnly }) => !prepareOnly);
  const others = [...sessions.keys()].filter(Boolean).length;
  const bytes = sizes.reduce((sum, { bytes, state: own }) => sum + bytes * (own ? others + 1 : 1), 0);
  return [Float64Array.of(number, bytes)];
}

/**
 * @param {Built} now
 * @returns {Promise<Built>}
 */
async function create(now) {
  const device = /** @type {Built['device']} */ (await now.device.session?.());
  return { ...now, device, host: now.attach?.(device), flush: prepareSegments(device, now.program) };
}

/** @type {(program: Built['program'], value: number) => import('../values/convert.js').Words} in whole words of 4 bytes */
const roomFor = (program, value) => {
  const { dtype } = storageOf(program, value);
  return words(dtype, wholeWords(dtype, valueAt(program, value).length));
};

/**
 * @param {Built} own whose states are zero
 * @param {readonly ArrayBufferView[]} arrays
 * @param {readonly number[]} scalars
 */
function writeStates({ plan, program, device }, arrays, scalars) {
  plan.states?.forEach(({ dtype, name, shape, room }, i) => {
    const value = at(program.states ?? [], i);
    const runs = runsOf(room, shapeOf(shape, scalars));
    const { dtype: held } = storageOf(program, value);
    const whole = roomFor(program, value);
    const numbers = words(held === 'float16' ? 'float32' : held, lengthOf(shapeOf(shape, scalars)));
    widen(dtype, at(arrays, i), numbers, `state ${JSON.stringify(name)}`);
    const dense = storedIn(held, numbers);
    for (const { dense: start, spaced, length } of runs)
      whole.set(/** @type {any} */ (dense.subarray(start, start + length)), spaced);
    device.write(value, whole);
  });
}

/**
 * @param {Built} own
 * @param {readonly number[]} scalars
 */
async function readRuns(own, scalars) {
  const { plan, program, device } = own;
  const specs = plan.states ?? [];
  const shapes = specs.map(({ shape }) => shapeOf(shape, scalars));
  const runs = specs.map(({ room }, i) => runsOf(room, at(shapes, i)));
  const values = program.states ?? [];
  const read = /** @type {NonNullable<typeof device.segmentOnce>} */ (device.segmentOnce)(values);
  const reaches = runs.map(reachOf);
  const halved = values.map((value) => storageOf(program, value).dtype === 'float16');
  const wholes = await read(
    [],
    reaches.map((reach, i) => (halved[i] ? Math.ceil(reach / 2) : reach)),
  );
  return { specs, shapes, runs, wholes: wholes.map((whole, i) => whole.subarray(0, reaches[i])) };
}

// <newest>
/**
 * @param {Built} own
 * @param {readonly number[]} scalars
 * @param {readonly number[]} stay the scalars of what stays
 */
async function moveStates(own, scalars, stay) {
  const { specs, shapes, wholes } = await readRuns(own, scalars);
  specs.forEach(({ shape, room }, i) => {
    const value = at(own.program.states ?? [], i);
    const whole = roomFor(own.program, value);
    whole.set(/** @type {any} */ (at(wholes, i)));
    moveRows(whole, 1, room, at(shapes, i), shapeOf(shape, stay));
    own.device.write(value, whole);
  });
  return [];
}
// </newest>

/**
 * @param {Built} own
 * @param {readonly number[]} scalars
 */
async function readStates(own, scalars) {
  const { program } = own;
  const values = program.states ?? [];
  const { specs, shapes, runs, wholes } = await readRuns(own, scalars);
  return specs.map(({ dtype }, i) => {
    const shape = at(shapes, i);
    const { dtype: held } = storageOf(program, at(values, i));
    const dense = denseOf(at(wholes, i), at(runs, i), () => words(held, lengthOf(shape)));
    return Object.assign(narrow(dtype, numbersIn(held, dense)), { shape });
  });
}
