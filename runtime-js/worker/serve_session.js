// A session in the dedicated worker: messages are answered in the order in which they came.

import { packError, WorkerError } from '../errors.js';
import { seconds, watchSilence } from '../fetch/watch_silence.js';
import { startSession } from '../start_session.js';

/** @typedef {import('../start_session.js').Session} Session */
/** @typedef {typeof import('./serve_mailbox.js').mailboxes} Mailboxes */
/**
 * @typedef {{ run: number, method: 'run' | 'profile' | 'keep', scalars: readonly number[], more: any[], bytes: ArrayBuffer,
 *   parts: (ImageBitmap | number)[] }} Run `method` of the session, and what it takes besides inputs and scalars; `parts` are
 *   the inputs, by their lengths in `bytes`, which has all arrays one after the other
 * @typedef {{ start: import('./start_worker.js').PlainPlan } | { joined: { failed?: string } } | Run} Request
 */
/**
 * @typedef {{ threads: number } | { join: import('./start_threads.js').PoolStart }} ToPool no threads: they end
 * @typedef {{ alive: true } | ToPool
 *   | { progress: import('../start_session.js').Notice }
 *   | { started: Session['facts'], mailbox?: import('./mailbox.js').Mailbox }
 *   | { failed: import('../errors.js').PlainError, run?: number, inputs?: (ArrayBufferView | ImageBitmap)[] }
 *   | { run: number, results: unknown[], shapes: (readonly number[] | undefined)[], bytes: ArrayBuffer }} Reply `bytes` goes
 *   back; `shapes` of results where they vary
 */

/** @type {import('../start_session.js').Backend} */
let backend;
/** @type {Session} */
let session;
/** @type {import('./mailbox.js').Ports} */
let ports;
/** @type {import('./mailbox.js').Mailbox | undefined} */
let mailbox;
let answered = 0;

/** @type {(reply: Reply, transfer?: ArrayBuffer[]) => void} */
const reply = (message, transfer = []) => globalThis.postMessage(message, { transfer });

/** @type {(answer: { failed?: string }) => void} */
let joined;

/** @type {(onActivity: () => void) => import('./start_threads.js').StartThreads} */
const threadStarter = (onActivity) => (count) => {
  reply({ threads: count });
  return {
    join: (start) =>
      new Promise((resolve, reject) => {
        joined = ({ failed }) => {
          onActivity();
          if (failed === undefined) resolve();
          else reject(new Error(failed));
        };
        onActivity();
        reply({ join: start });
      }),
    dispose: () => reply({ threads: 0 }),
  };
};

/** More silence than downloads and threads may have, whose own errors say more. */
const LENIENCE = 1.25;

/**
 * Starts the session, and reports requests that a GPU's driver never answers. The watch runs here, where its ticks wait
 * while this thread computes: a long warm-up is no silence.
 * @param {import('./start_worker.js').PlainPlan} plan
 */
async function begin(plan) {
  const { onActivity, stop } = watchSilence(plan.timeout * LENIENCE, () => {
    const hint = 'load with a longer { timeout } or another { backend }';
    const message = `the worker started no session: nothing happened there for ${seconds(plan.timeout)}; ${hint}`;
    reply({ failed: packError(new WorkerError('start', message)) });
  });
  /** @param {import('../start_session.js').Notice} progress */
  const notify = (progress) => {
    onActivity();
    reply({ progress });
  };
  try {
    const own = { ...plan, inWorker: true, startThreads: threadStarter(onActivity), onActivity };
    session = await startSession(backend, own, notify).finally(stop);
    ports = plan;
    const { mailboxes } = backend;
    if (session.runInto && mailboxes?.canShare()) mailbox = mailboxes.createMailbox(plan);
    reply({ started: session.facts, mailbox });
  } catch (error) {
    reply({ failed: packError(error) });
    return;
  }
  wait();
}

/** @param {Run} request */
async function answer({ run, method, scalars, more, bytes, parts }) {
  let end = 0;
  const inputs = parts.map((part) => {
    if (typeof part !== 'number') return part;
    end += part;
    return new Uint8Array(bytes, end - part, part);
  });
  try {
    // A run that is over at once is answered at once.
    const pending = /** @type {any} */ (session)[method](inputs, scalars, ...more);
    const results = pending instanceof Promise ? await pending : pending;
    const buffers = results.flatMap((/** @type {any} */ { buffer }) => (buffer ? [buffer] : []));
    const shapes = results.map((/** @type {any} */ { shape }) => shape);
    reply({ run, results, shapes, bytes }, [...buffers, bytes]);
  } catch (error) {
    reply({ run, failed: packError(error), inputs }, [bytes]);
  } finally {
    for (const part of parts) if (typeof part !== 'number') part.close();
    answered++;
  }
  wait();
}

function wait() {
  if (mailbox) /** @type {Mailboxes} */ (backend.mailboxes).listen(mailbox, answered, serve);
}

/** @param {number} run */
function serve(run) {
  try {
    const { runInto } = session;
    /** @type {Mailboxes} */ (backend.mailboxes).serveRun(
      /** @type {import('./mailbox.js').Mailbox} */ (mailbox),
      ports,
      /** @type {NonNullable<typeof runInto>} */ (runInto),
    );
    return true;
  } catch (error) {
    reply({ run, failed: packError(error) });
    return false;
  }
}

/**
 * Answers the page's messages from now on.
 * @param {import('../start_session.js').Backend} own what the worker's script is for
 */
export function serveSession(own) {
  backend = own;
  /** @param {MessageEvent<Request>} event */
  globalThis.onmessage = ({ data }) => {
    if ('start' in data) begin(data.start);
    else if ('joined' in data) joined(data.joined);
    else answer(data);
  };
  reply({ alive: true });
}
