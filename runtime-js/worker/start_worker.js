// The page's side of the worker: a session whose runs are answered by messages. Nothing large is cloned: inputs are
// copied into a buffer that goes to the worker and comes back, outputs are handed over.

import { RunError, unpackError, WorkerError } from '../errors.js';
import { BUNDLERS } from '../fetch/fetch_file.js';
import { reasonOf } from '../fetch/unless_aborted.js';
import { seconds, watchSilence } from '../fetch/watch_silence.js';
// <next>
import { givenBack } from './given_back.js';
// </next>
import * as wasmPage from './wasm_page.js';
import * as workers from './workers.js';

/** @typedef {Omit<import('../start_session.js').Plan, 'startThreads' | 'device' | 'signal' | 'onActivity'> & import('../load/load.js').Part} PlainPlan */
/** @typedef {{ resolve: (results: any[]) => void, reject: (error: Error) => void }} Waiting */

/**
 * @param {PlainPlan} plan
 * @param {(notice: import('../start_session.js').Notice) => void} onProgress
 * @param {AbortSignal} [signal] ends the start
 * @returns {Promise<import('../start_session.js').Session>}
 */
export async function startWorker(plan, onProgress, signal) {
  const worker = create(plan.backend);
  /** @type {Map<number, Waiting>} the runs without an answer */
  const waiting = new Map();
  let runs = 0;
  /** @type {import('./start_threads.js').ThreadPool | undefined} */
  let pool;
  /** @type {ArrayBuffer | undefined} kept from the last run */
  let spare;
  /** @type {import('./mailbox.js').Mailbox | undefined} */
  let mailbox;
  /** @type {Error | undefined} */
  let ended;

  /** @param {Error} error */
  const end = (error) => {
    ended ??= error;
    worker.terminate();
    pool?.dispose();
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  };

  /** @param {number} run */
  const take = (run) => {
    const call = /** @type {Waiting} */ (waiting.get(run));
    waiting.delete(run);
    return call;
  };

  /** @type {import('../start_session.js').Session['facts']} */
  const facts = await new Promise((resolve, reject) => {
    /** @param {Error} error */
    const fail = (error) => {
      release();
      end(error);
      reject(error); // without effect once started
    };
    const release = () => {
      watch.stop();
      signal?.removeEventListener('abort', abort);
    };
    let started = false;
    // Silence is no fault of this script.
    const late = () => fail(noStart({ message: `no message within ${seconds(plan.timeout)}` }));
    const watch = watchSilence(plan.timeout, late);
    const abort = () => fail(reasonOf(/** @type {AbortSignal} */ (signal)));
    signal?.addEventListener('abort', abort);
    /** @param {MessageEvent<import('./serve_session.js').Reply>} event */
    worker.onmessage = ({ data }) => {
      watch.stop(); // from now on the worker itself watches
      if ('alive' in data) return;
      if ('progress' in data) onProgress(data.progress);
      else if ('results' in data) {
        spare = data.bytes;
        take(data.run).resolve(withShapes(data.results, data.shapes));
      } else if ('threads' in data) {
        pool?.dispose();
        pool = data.threads && !ended ? wasmPage.startThreads(data.threads, plan.timeout) : undefined;
      } else if ('join' in data) {
        pool?.join(data.join).then(
          () => worker.postMessage({ joined: {} }),
          ({ message }) => worker.postMessage({ joined: { failed: message } }),
        );
      } else if ('started' in data) {
        started = true;
        release();
        mailbox = data.mailbox;
        resolve(data.started);
      } else if (data.run === undefined) fail(unpackError(data.failed));
      else {
        const error = unpackError(data.failed);
        // <next>
        givenBack.set(error, data.inputs);
        // </next>
        take(data.run).reject(error);
      }
    };
    worker.onmessageerror = () => fail(new WorkerError('crash', 'a message from the worker could not be read'));
    worker.onerror = (event) => {
      event.preventDefault();
      fail(
        started
          ? new WorkerError('crash', `the worker died: ${event.message}; load the model again`)
          : noStart(event, plan.backend),
      );
    };
    worker.postMessage({ start: plan });
  });

  /**
   * @param {import('./serve_session.js').Run['method']} method
   * @returns {(inputs: import('../start_session.js').Input[], scalars: readonly number[], ...more: any[]) => Promise<any[]>}
   */
  const post =
    (method) =>
    (inputs, scalars, ...more) =>
      new Promise((resolve, reject) => {
        if (ended) throw ended;
        const bytes = pack(inputs.filter(ArrayBuffer.isView), spare);
        spare = undefined;
        const parts = inputs.map((input) => (ArrayBuffer.isView(input) ? input.byteLength : input));
        if (mailbox) wasmPage.mailboxes.interruptWait(mailbox);
        worker.postMessage({ run: runs, method, scalars, more, bytes, parts }, [bytes]);
        waiting.set(runs++, { resolve, reject });
      });
  /**
   * A run while no other is under way, which the worker may take without a message; or one whose token is on the device.
   * @type {(inputs: import('../start_session.js').Input[], scalars: readonly number[],
   *   options: import('../start_session.js').SessionOptions) => Promise<any[]> | undefined}
   */
  const hand = (inputs, scalars, { into = [], signal, fed }) => {
    // <generate>
    if (fed) return post('run')(inputs, scalars, { fed });
    // </generate>
    const { mailboxes } = wasmPage;
    if (!mailbox || waiting.size || ended) return undefined;
    const box = mailbox;
    const run = runs;
    const done = mailboxes.sendRun(box, run, /** @type {ArrayBufferView[]} */ (inputs), scalars);
    return (
      done &&
      new Promise((resolve, reject) => {
        waiting.set(runs++, { resolve, reject });
        // The caller's arrays are the caller's again once the run has rejected.
        const deliver = () =>
          waiting.has(run) && take(run).resolve(signal?.aborted ? [] : mailboxes.receive(box, plan, into));
        done.then(deliver).catch(reject);
      })
    );
  };
  return {
    facts,
    run: (inputs, scalars, options = {}) => hand(inputs, scalars, options) ?? post('run')(inputs, scalars),
    profile: post('profile'),
    // <states>
    keep: post('keep'),
    // </states>
    dispose: () => end(new RunError('disposed', 'the model was disposed of')),
  };
}

/**
 * Structured clone has left them out.
 * @param {any[]} results
 * @param {(readonly number[] | undefined)[]} shapes
 */
const withShapes = (results, shapes) =>
  results.map((result, i) => (shapes[i] ? Object.assign(result, { shape: shapes[i] }) : result));

/** @param {PlainPlan['backend']} backend */
function create(backend) {
  try {
    return /** @type {Record<typeof backend, () => Worker>} */ (workers)[backend]();
  } catch (error) {
    throw noStart(/** @type {Error} */ (error), backend);
  }
}

/**
 * @param {{ message: string }} cause browsers have no message where the script itself is refused
 * @param {PlainPlan['backend']} [backend] whose script is at fault
 */
function noStart({ message }, backend) {
  const why = message ? ` (${message})` : '';
  const allowed = "worker-src 'self', for a script of another origin that and blob:";
  const hint = `does a Content-Security-Policy allow it (${allowed})? Or load with { worker: false }`;
  const text = `the worker did not start${why}: is its script beside model.js (${BUNDLERS})? ${hint}`;
  return Object.assign(new WorkerError('start', text), { file: backend });
}

/**
 * All arrays one after the other, in `spare` where they fit.
 * @param {ArrayBufferView[]} arrays
 * @param {ArrayBuffer | undefined} spare
 */
function pack(arrays, spare) {
  const size = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const target = new Uint8Array(spare && spare.byteLength >= size ? spare : new ArrayBuffer(size));
  let end = 0;
  for (const { buffer, byteOffset, byteLength } of arrays) {
    target.set(new Uint8Array(buffer, byteOffset, byteLength), end);
    end += byteLength;
  }
  return target.buffer;
}
