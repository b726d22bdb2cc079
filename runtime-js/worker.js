// The dedicated worker: one session, messages answered in the order in which they came.
import { elementOf, lengthOf } from './dtypes.js';
import { packError } from './errors.js';
import { canShare, createMailbox, listen } from './mailbox.js';
import { startFirst } from './start_first.js';

/** @typedef {import('./start_first.js').Session} Session */
/** @typedef {(ImageBitmap | null)[]} Images by input, null where it is an array */
/**
 * @typedef {{ run: number, profile: boolean, bytes: ArrayBuffer, images: Images }} Run `bytes`: all arrays, one after
 * the other
 * @typedef {{ start: import('./start_worker.js').PlainPlan } | { joined: { failed?: string } } | Run} Request
 */
/**
 * @typedef {{ threads: number } | { join: import('./start_threads.js').PoolStart }} ToPool no threads: they end
 * @typedef {{ alive: true } | ToPool
 *   | { progress: import('./model.js').Progress }
 *   | { started: Session['facts'], mailbox?: import('./mailbox.js').Mailbox }
 *   | { failed: import('./errors.js').PlainError, run?: number }
 *   | { run: number, results: unknown[], bytes: ArrayBuffer }} Reply `bytes` goes back
 */

/** @type {Session} */
let session;
/** @type {number[]} bytes of each input */
let sizes;
/** @type {import('./mailbox.js').Mailbox | undefined} */
let mailbox;
let answered = 0;

/** @type {(reply: Reply, transfer?: ArrayBuffer[]) => void} */
const reply = (message, transfer = []) => globalThis.postMessage(message, { transfer });

/** @type {(answer: { failed?: string }) => void} */
let joined;

/** @type {import('./start_threads.js').StartThreads} */
const startThreads = (count) => {
  reply({ threads: count });
  return {
    join: (start) =>
      new Promise((resolve, reject) => {
        joined = ({ failed }) => (failed === undefined ? resolve() : reject(new Error(failed)));
        reply({ join: start });
      }),
    dispose: () => reply({ threads: 0 }),
  };
};

/** @param {import('./start_worker.js').PlainPlan} plan */
async function start(plan) {
  try {
    session = await startFirst({ ...plan, startThreads }, (progress) => reply({ progress }));
    sizes = plan.inputs.map(({ dtype, shape }) => lengthOf(shape) * elementOf(dtype).bytes);
    if (session.runInto && canShare()) mailbox = createMailbox(plan.inputs, plan.outputs);
    reply({ started: session.facts, mailbox });
  } catch (error) {
    reply({ failed: packError(error) });
    return;
  }
  wait();
}

/** @param {Run} request */
async function answer({ run, profile, bytes, images }) {
  try {
    let end = 0;
    const inputs = sizes.map((size, i) => {
      const image = images[i];
      if (image) return image;
      end += size;
      return new Uint8Array(bytes, end - size, size);
    });
    // A run that is over at once is answered at once.
    const pending = profile ? session.profile(inputs) : session.run(inputs);
    const results = pending instanceof Promise ? await pending : pending;
    const buffers = results.flatMap((result) =>
      'buffer' in result ? [/** @type {ArrayBuffer} */ (result.buffer)] : [],
    );
    reply({ run, results, bytes }, [...buffers, bytes]);
  } catch (error) {
    reply({ run, failed: packError(error) });
  } finally {
    for (const image of images) image?.close();
    answered++;
  }
  wait();
}

function wait() {
  if (mailbox) listen(mailbox, answered, serve);
}

/** @param {number} run */
function serve(run) {
  const { inputs, outputs } = /** @type {import('./mailbox.js').Mailbox} */ (mailbox);
  try {
    /** @type {NonNullable<Session['runInto']>} */ (session.runInto)(inputs, outputs);
    return true;
  } catch (error) {
    reply({ run, failed: packError(error) });
    return false;
  }
}

/** @param {MessageEvent<Request>} event */
globalThis.onmessage = ({ data }) => {
  if ('start' in data) start(data.start);
  else if ('joined' in data) joined(data.joined);
  else answer(data);
};

reply({ alive: true });
