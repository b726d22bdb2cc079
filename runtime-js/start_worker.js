// The page's side of the worker: a session whose runs are answered by messages.
import { RunError, unpackError, WorkerError } from './errors.js';

/** @typedef {import('./model.js').TypedArray} TypedArray */
/** @typedef {{ resolve: (outputs: TypedArray[]) => void, reject: (error: Error) => void }} Waiting */

/**
 * @param {import('./start_wasm.js').WasmPlan} plan
 * @param {(progress: import('./model.js').Progress) => void} onProgress
 */
export async function startWorker(plan, onProgress) {
  const worker = create();
  /** @type {Map<number, Waiting>} the runs without an answer */
  const waiting = new Map();
  let runs = 0;
  /** @type {Error | undefined} */
  let ended;

  /** @param {Error} error */
  const end = (error) => {
    ended ??= error;
    worker.terminate();
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };

  /** @param {number} run */
  const take = (run) => {
    const call = /** @type {Waiting} */ (waiting.get(run));
    waiting.delete(run);
    return call;
  };

  await new Promise((/** @type {(value?: undefined) => void} */ resolve, reject) => {
    /** @param {Error} error */
    const fail = (error) => {
      end(error);
      reject(error); // without effect once started
    };
    let started = false;
    /** @param {MessageEvent<import('./worker.js').Reply>} event */
    worker.onmessage = ({ data }) => {
      if ('progress' in data) onProgress(data.progress);
      else if ('outputs' in data) take(data.run).resolve(data.outputs);
      else if ('started' in data) {
        started = true;
        resolve();
      } else if (data.run === undefined) fail(unpackError(data.failed));
      else take(data.run).reject(unpackError(data.failed));
    };
    worker.onmessageerror = () => fail(new WorkerError('crash', 'a message from the worker could not be read'));
    worker.onerror = (event) => {
      event.preventDefault();
      fail(
        started ? new WorkerError('crash', `the worker died: ${event.message}; load the model again`) : noStart(event),
      );
    };
    worker.postMessage({ start: plan });
  });

  return {
    /**
     * @param {TypedArray[]} inputs
     * @returns {Promise<TypedArray[]>}
     */
    run: (inputs) =>
      new Promise((resolve, reject) => {
        if (ended) throw ended;
        worker.postMessage({ run: runs, inputs: inputs.map(compact) });
        waiting.set(runs++, { resolve, reject });
      }),
    dispose: () => end(new RunError('disposed', 'the model was disposed of')),
  };
}

function create() {
  try {
    // Bundlers know this expression, word for word, and take the worker's script along.
    return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
  } catch (error) {
    throw noStart(/** @type {Error} */ (error));
  }
}

/** @param {{ message: string }} cause browsers give no message where the script itself is refused */
function noStart({ message }) {
  const why = message ? ` (${message})` : '';
  const hint = "does a Content-Security-Policy allow it (worker-src 'self')? Or load with { worker: false }";
  return new WorkerError(
    'start',
    `the worker did not start${why}: is its script beside model.js, on the page's own origin? ${hint}`,
  );
}

/**
 * A view of a part of a buffer would be sent with all of it, and shared memory would not be copied at all.
 * @param {TypedArray} array
 */
const compact = (array) =>
  array.buffer instanceof ArrayBuffer && array.byteLength === array.buffer.byteLength ? array : array.slice();
