// A thread of the pool: an instance of the module on the shared memory, with a stack of its own.
import { serve } from '../wasm/pool.js';
import { OPERANDS_AT } from '../wasm/stacks.js';

/**
 * @typedef {object} ThreadStart
 * @property {WebAssembly.Module} module
 * @property {WebAssembly.Memory} memory
 * @property {Int32Array} control
 * @property {number} stack byte address of its upper end
 */

/** @param {MessageEvent<ThreadStart>} event */
globalThis.onmessage = ({ data: { module: code, memory, control, stack } }) => {
  /** @type {import('../wasm/start_wasm.js').Exports} */
  let kernels;
  try {
    /** @type {import('../wasm/pool.js').ParallelFor} */
    const parallel_for = (body, args, extent) => kernels.chunk(body, args, 0, extent);
    const clock = () => {}; // for the thread that profiles
    const env = { memory, parallel_for, clock, clock_launch: clock };
    const instance = new WebAssembly.Instance(code, { env });
    kernels = /** @type {import('../wasm/start_wasm.js').Exports} */ (instance.exports);
    kernels.__stack_pointer.value = stack;
    // <canaries>
    kernels.canary?.(stack - OPERANDS_AT);
    // </canaries>
  } catch (error) {
    globalThis.postMessage({ failed: String(error) });
    return;
  }
  globalThis.postMessage({ ready: true });
  serve(control, kernels.chunk);
};
