// One compiled module with its memory: everything is allocated here, once; a run allocates only its results.
import { elementOf, lengthOf, typedArray } from './dtypes.js';
import { RunError, UnsupportedError } from './errors.js';
import { fetchFile } from './fetch_file.js';

/** @typedef {import('./fetch_file.js').FileSpec} FileSpec */
/** @typedef {FileSpec & { offset: number }} Shard `offset`: bytes into the weights */
/** @typedef {import('./model.js').Progress} Progress */
/** @typedef {import('./model.js').TypedArray} TypedArray */
/** @typedef {import('./model.js').TensorInfo & { offset: number }} TensorSpec `offset`: bytes into the arena */
/**
 * @typedef {object} WasmPlan What the worker needs to know.
 * @property {FileSpec} module
 * @property {Shard[]} weights
 * @property {{ pages: number, weights: number, arena: number }} memory pages of 64 KiB; byte addresses
 * @property {readonly TensorSpec[]} inputs
 * @property {readonly TensorSpec[]} outputs
 */
/**
 * @typedef {{ prepare?: Entry, run: Entry }} Exports `prepare` is called once, before the first run
 * @typedef {(weights: number, arena: number) => void} Entry
 */
/**
 * @typedef {object} Session
 * @property {(inputs: TypedArray[]) => TypedArray[]} run in the order of the plan's inputs and outputs
 */

/**
 * @param {WasmPlan} plan
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<Session>}
 */
export async function startWasm(plan, onProgress) {
  const memory = allocate(plan.memory.pages);
  const instance = await WebAssembly.instantiate(await download(plan, memory, onProgress), { env: { memory } });
  const { prepare, run: compute } = /** @type {Exports} */ (instance.exports);
  const { weights, arena } = plan.memory;
  prepare?.(weights, arena);
  /** @type {RunError | undefined} */
  let broken;
  return {
    run(inputs) {
      if (broken) throw broken;
      plan.inputs.forEach((spec, i) => {
        write(memory.buffer, arena + spec.offset, spec, /** @type {TypedArray} */ (inputs[i]));
      });
      try {
        compute(weights, arena);
      } catch (error) {
        // A trap leaves the stack pointer and the memory as they were in mid-run.
        broken = new RunError(
          'trap',
          `the compiled model stopped: ${/** @type {Error} */ (error).message}; load it again`,
        );
        throw broken;
      }
      return plan.outputs.map((spec) => read(memory.buffer, arena + spec.offset, spec));
    },
  };
}

/** @param {number} pages */
function allocate(pages) {
  try {
    return new WebAssembly.Memory({ initial: pages, maximum: pages });
  } catch (error) {
    const size = `${Math.ceil(pages / 16)} MiB`;
    throw new UnsupportedError(
      'memory',
      `the browser did not give the ${size} of memory that the model needs: ${error}`,
    );
  }
}

/**
 * Both downloads at once; when one file fails, the others are given up.
 * @param {WasmPlan} plan
 * @param {WebAssembly.Memory} memory
 * @param {(progress: Progress) => void} onProgress
 */
async function download(plan, memory, onProgress) {
  const code = new Uint8Array(plan.module.bytes);
  const place = (/** @type {Shard} */ { offset, bytes }) =>
    new Uint8Array(memory.buffer, plan.memory.weights + offset, bytes);
  const abort = new AbortController();
  /** @type {(phase: 'code' | 'weights', files: [FileSpec, Uint8Array<ArrayBuffer>][]) => Promise<unknown>} */
  const fetchAll = (phase, files) => {
    const total = files.reduce((sum, [{ bytes }]) => sum + bytes, 0);
    let loaded = 0;
    const onBytes = (/** @type {number} */ bytes) => {
      loaded += bytes;
      onProgress({ phase, loaded, total });
    };
    return Promise.all(files.map(([file, target]) => fetchFile(file, target, onBytes, abort.signal)));
  };
  try {
    const module = fetchAll('code', [[plan.module, code]]).then(() => compile(code, plan.module.url));
    await Promise.all([
      module,
      fetchAll(
        'weights',
        plan.weights.map((shard) => [shard, place(shard)]),
      ),
    ]);
    return await module;
  } catch (error) {
    abort.abort();
    throw error;
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} code
 * @param {string} url
 */
async function compile(code, url) {
  return WebAssembly.compile(code).catch((error) => {
    const hint = "a Content-Security-Policy needs script-src 'wasm-unsafe-eval'";
    throw new UnsupportedError('compile', `the browser refused to compile ${url} (${hint}): ${error.message}`);
  });
}

/**
 * @param {ArrayBuffer} buffer
 * @param {number} address
 * @param {TensorSpec} spec
 * @param {TypedArray} value
 */
function write(buffer, address, { dtype }, value) {
  const target = new Uint8Array(buffer, address, value.byteLength);
  target.set(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  // Compiled code may rely on 0 or 1, as in NumPy.
  if (dtype === 'bool') for (let i = 0; i < target.length; i++) if (target[i]) target[i] = 1;
}

/**
 * @param {ArrayBuffer} buffer
 * @param {number} address
 * @param {TensorSpec} spec
 */
function read(buffer, address, { dtype, shape }) {
  return typedArray(dtype, buffer.slice(address, address + lengthOf(shape) * elementOf(dtype).bytes));
}
