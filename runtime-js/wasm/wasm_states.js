// The states of sessions, in a module's memory: those of the first one are planned, and memory grows for others. A session is
// the distance in bytes from there.
import { UnsupportedError } from '../errors.js';
import { elementOf, lengthOf } from '../values/dtypes.js';
import { resultIn } from '../values/into.js';
// <newest>
import { moveRows } from '../values/move_rows.js';
// </newest>
import { shapeOf } from '../values/sizes.js';

const PAGE = 65536;

/** @typedef {(memory: Uint8Array, dtype: string, array: any, extents: readonly number[], shape: readonly number[]) => void} Copy */

/**
 * @param {import('./start_wasm.js').WasmPlan} plan
 * @param {WebAssembly.Memory} memory
 * @param {Copy} readTensor
 * @param {Copy} writeTensor
 * @returns {NonNullable<import('../start_session.js').Session['keep']>}
 */
export function wasmStates(
  { states = [], stateMemory, memory: { states: first = 0 } },
  memory,
  readTensor,
  writeTensor,
) {
  const { bytes, offsets } = /** @type {{ bytes: number, offsets: number[] }} */ (stateMemory);
  /** @type {number[]} sessions that are no more */
  const free = [];
  const grow = () => {
    try {
      return memory.grow(Math.ceil(bytes / PAGE)) * PAGE - first;
    } catch (error) {
      const size = `${Math.ceil(bytes / 2 ** 20)} MiB`;
      const advice = 'dispose of one that is over';
      throw new UnsupportedError(
        'memory',
        `there is no room for the states of one more session, ${size}: ${advice} (${error})`,
      );
    }
  };
  return (arrays, scalars, action, session = free.pop() ?? grow(), from = session, stay = scalars) => {
    const place = (/** @type {number} */ session) => new Uint8Array(memory.buffer, first + session, bytes);
    const own = place(session);
    if (action === 'drop') free.push(session);
    if (action === 'read') {
      return states.map((spec, i) => {
        const shape = shapeOf(spec.shape, scalars);
        const room = new Uint8Array(lengthOf(shape) * elementOf(spec.dtype).bytes);
        readTensor(own.subarray(offsets[i]), spec.dtype, room, spec.room, shape);
        return resultIn(spec, room, shape);
      });
    }
    // <newest>
    if (action === 'move') {
      states.forEach(({ dtype, shape, room }, i) => {
        const [before, after] = [scalars, stay].map((own) => shapeOf(shape, own));
        moveRows(own.subarray(offsets[i]), elementOf(dtype).bytes, room, before ?? [], after ?? []);
      });
      return [];
    }
    // </newest>
    if (action === 'copy') own.set(place(from));
    if (action === 'write') own.fill(0);
    arrays.forEach((array, i) => {
      const { dtype, shape, room } = /** @type {import('../start_session.js').StateSpec} */ (states[i]);
      writeTensor(own.subarray(offsets[i]), dtype, array, room, shapeOf(shape, scalars));
    });
    return [Float64Array.of(session, memory.buffer.byteLength)];
  };
}
