// The dedicated worker: one session, messages answered in the order in which they came.
import { elementOf, lengthOf } from './dtypes.js';
import { packError } from './errors.js';
import { startWasm } from './start_wasm.js';

/** @typedef {{ start: import('./start_wasm.js').WasmPlan } | { run: number, bytes: ArrayBuffer }} Request `bytes`: all inputs, one after the other */
/**
 * @typedef {{ progress: import('./model.js').Progress }
 *   | { started: import('./start_wasm.js').Facts }
 *   | { failed: import('./errors.js').PlainError, run?: number }
 *   | { run: number, outputs: import('./model.js').TypedArray[], bytes: ArrayBuffer }} Reply `bytes` goes back
 */

/** @type {import('./start_wasm.js').Session} */
let session;
/** @type {number[]} bytes of each input */
let sizes;

/** @type {(reply: Reply, transfer?: ArrayBuffer[]) => void} */
const reply = (message, transfer = []) => globalThis.postMessage(message, { transfer });

/** @param {import('./start_wasm.js').WasmPlan} plan */
async function start(plan) {
  try {
    session = await startWasm(plan, (progress) => reply({ progress }));
    sizes = plan.inputs.map(({ dtype, shape }) => lengthOf(shape) * elementOf(dtype).bytes);
    reply({ started: session.facts });
  } catch (error) {
    reply({ failed: packError(error) });
  }
}

/** @param {MessageEvent<Request>} event */
globalThis.onmessage = ({ data }) => {
  if ('start' in data) {
    start(data.start);
    return;
  }
  const { run, bytes } = data;
  try {
    let end = 0;
    const inputs = sizes.map((size) => {
      end += size;
      return new Uint8Array(bytes, end - size, size);
    });
    const outputs = session.run(inputs);
    reply({ run, outputs, bytes }, [...outputs.map((output) => /** @type {ArrayBuffer} */ (output.buffer)), bytes]);
  } catch (error) {
    reply({ run, failed: packError(error) });
  }
};
