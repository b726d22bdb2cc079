// The dedicated worker: one session, messages answered in the order in which they came.
import { packError } from './errors.js';
import { startWasm } from './start_wasm.js';

/** @typedef {{ start: import('./start_wasm.js').WasmPlan } | { run: number, inputs: import('./model.js').TypedArray[] }} Request */
/**
 * @typedef {{ progress: import('./model.js').Progress }
 *   | { started: true }
 *   | { failed: import('./errors.js').PlainError, run?: number }
 *   | { run: number, outputs: import('./model.js').TypedArray[] }} Reply
 */

/** @type {import('./start_wasm.js').Session} */
let session;

/** @type {(reply: Reply, transfer?: ArrayBuffer[]) => void} */
const reply = (message, transfer = []) => globalThis.postMessage(message, { transfer });

/** @param {import('./start_wasm.js').WasmPlan} plan */
async function start(plan) {
  try {
    session = await startWasm(plan, (progress) => reply({ progress }));
    reply({ started: true });
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
  const { run, inputs } = data;
  try {
    const outputs = session.run(inputs);
    const buffers = outputs.map((output) => /** @type {ArrayBuffer} */ (output.buffer));
    reply({ run, outputs }, buffers);
  } catch (error) {
    reply({ run, failed: packError(error) });
  }
};
