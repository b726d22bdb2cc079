// A step of a decoder that begins before the page has the token of the one before. In a worker alone: on the page's own thread
// it would hold up what takes the token.
import { elementOf, typedArray } from '../values/dtypes.js';

/**
 * @param {import('./start_wasm.js').WasmPlan} plan of a decoder
 * @param {WebAssembly.Memory} memory
 */
export function wasmAhead(
  { fed, inputs, outputs, states = [], stateMemory, memory: { arena, states: first } },
  memory,
) {
  const { input, output } = /** @type {NonNullable<typeof fed>} */ (fed);
  const { dtype } = /** @type {import('./start_wasm.js').TensorSpec} */ (inputs[input]);
  const { offset } = /** @type {import('./start_wasm.js').TensorSpec} */ (outputs[output]);
  const given = typedArray(dtype, new ArrayBuffer(elementOf(dtype).bytes));
  /** @type {Map<number, number>} by session */
  const tokens = new Map();
  /** @type {Map<number, Uint8Array[]>} by session, of states that dropped rows do not concern */
  const copies = new Map();
  const { offsets = [], bytes = 0 } = stateMemory ?? {};
  const ends = [...offsets, bytes].sort((a, b) => a - b);
  const ranges = offsets.flatMap((begin, i) => (states[i]?.stays ? [[begin, ends.find((end) => end > begin)]] : []));
  const lasting = (/** @type {number} */ session) => {
    const own = new Uint8Array(memory.buffer, Number(first) + session, bytes);
    return ranges.map((range) => own.subarray(...range));
  };
  return {
    /** @param {number} session whose run is over: the next one may be that of another */
    keep(session) {
      tokens.set(session, Number(new Int32Array(memory.buffer, arena + offset, 1)[0]));
    },
    /**
     * The inputs of a run, with the token of the session's run before in place of its own.
     * @param {ArrayBufferView[]} values
     * @param {number} session
     */
    feed(values, session) {
      const own = lasting(session);
      const kept = copies.get(session) ?? own.map((state) => new Uint8Array(state.length));
      own.forEach((state, i) => {
        kept[i]?.set(state);
      });
      copies.set(session, kept);
      const token = Number(tokens.get(session));
      given[0] = dtype === 'int64' ? BigInt(token) : token;
      return values.map((value, i) => (i === input ? given : value));
    },
    /** @param {number} session whose last run is as if it had not been */
    undo(session) {
      lasting(session).forEach((state, i) => {
        state.set(/** @type {Uint8Array} */ (copies.get(session)?.[i]));
      });
    },
  };
}
