// The workers of the pool, on the side that loads the model. In Firefox `new Worker` in a worker may never return
// while WebDriver or a debugger listens for workers: it waits until the page's thread has registered it with them, on a
// condition variable on which the new worker waits, too, and the page's thread wakes one of the two (WorkerPrivate.h:
// WaitForIsDebuggerRegistered, SetIsDebuggerRegistered). On a page's thread it does not wait. So a session's worker
// starts none itself: it sends a request to its creator.

import { seconds, watchSilence } from '../fetch/watch_silence.js';
import { STACK_BYTES } from '../wasm/stacks.js';
import { createWorker } from './create_worker.js';

/**
 * @typedef {Omit<import('./thread.js').ThreadStart, 'stack'> & { stacks: number }} PoolStart `stacks`: the byte address
 * from which each thread gets a stack
 * @typedef {object} ThreadPool
 * @property {(start: PoolStart) => Promise<void>} join gives threads their work; resolves when all of them wait for it
 * @property {() => void} dispose
 * @typedef {(count: number, timeout: number) => ThreadPool} StartThreads `timeout`: ms until all must have started
 */

/**
 * Starts to load the script of each worker.
 * @type {StartThreads}
 */
export function startThreads(count, timeout) {
  /** @type {Worker[]} */
  const workers = [];
  const dispose = () => {
    for (const worker of workers) worker.terminate();
  };
  /** @type {Promise<never>} */
  const failed = new Promise((_, reject) => {
    try {
      for (let i = 0; i < count; i++) {
        const create = () => new Worker(new URL('./thread.js', import.meta.url), { type: 'module' });
        const worker = createWorker(create, './thread.js');
        workers.push(worker);
        worker.onerror = (event) => {
          event.preventDefault();
          reject(new Error(event.message || 'its script did not load'));
        };
      }
    } catch (error) {
      reject(error);
    }
  });
  failed.catch(() => {}); // join reports it
  return {
    async join({ stacks, ...start }) {
      const ready = workers.map(
        (worker, i) =>
          new Promise((resolve, reject) => {
            worker.onmessage = ({ data }) => (data.ready ? resolve(undefined) : reject(new Error(data.failed)));
            worker.postMessage({ ...start, stack: stacks + (i + 1) * STACK_BYTES });
          }),
      );
      /** @type {import('../fetch/watch_silence.js').Watch | undefined} */
      let watch;
      const late = new Promise((_, reject) => {
        watch = watchSilence(timeout, () => reject(new Error(`no message within ${seconds(timeout)}`)));
      });
      try {
        await Promise.race([Promise.all(ready), failed, late]);
      } finally {
        watch?.stop();
      }
    },
    dispose,
  };
}
