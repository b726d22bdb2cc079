// The workers of the pool, from the side that starts them.

/** @typedef {{ threads: number, reason: string }} ThreadCount */

const AUTO_MOST = 8;
const START_MS = 20_000;

/** Of each thread but the first, whose stack is the module's own. */
export const STACK_BYTES = 65536;

/**
 * How many threads can be had here, and why.
 * @param {number | 'auto'} asked
 * @param {boolean} able whether the module has loops for several threads
 * @returns {ThreadCount}
 */
export function countThreads(asked, able) {
  const one = (/** @type {string} */ reason) => ({ threads: 1, reason });
  if (asked === 1) return one('one was asked for');
  if (!able) return one('no loop of this model is worth more than one thread');
  if (!globalThis.crossOriginIsolated) {
    return one(
      'the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and ' +
        'Cross-Origin-Embedder-Policy: require-corp',
    );
  }
  if (typeof Worker !== 'function') return one('there are no workers here');
  if (typeof document !== 'undefined') return one("the page's own thread may not wait: leave `worker` at true");
  const processors = navigator.hardwareConcurrency || 1;
  if (asked !== 'auto') return { threads: asked, reason: 'so many were asked for' };
  // Two logical processors often share one core's arithmetic.
  const threads = Math.min(AUTO_MOST, Math.max(Math.min(2, processors), processors >> 1));
  return { threads, reason: `the browser reports ${processors} logical processor${processors === 1 ? '' : 's'}` };
}

/**
 * Starts to load the script of each worker; `join` gives them their work.
 * @param {number} count
 */
export function startThreads(count) {
  /** @type {Worker[]} */
  const workers = [];
  const dispose = () => {
    for (const worker of workers) worker.terminate();
  };
  /** @type {Promise<never>} */
  const failed = new Promise((_, reject) => {
    try {
      for (let i = 0; i < count; i++) {
        const worker = new Worker(new URL('./thread.js', import.meta.url), { type: 'module' });
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
  failed.catch(() => {}); // it is `join` that tells
  return {
    /**
     * Resolves when every thread waits for work.
     * @param {WebAssembly.Module} module
     * @param {WebAssembly.Memory} memory
     * @param {Int32Array} control
     * @param {number} stacks byte address from which each thread gets a stack
     */
    async join(module, memory, control, stacks) {
      const ready = workers.map(
        (worker, i) =>
          new Promise((resolve, reject) => {
            worker.onmessage = ({ data }) => (data.ready ? resolve(undefined) : reject(new Error(data.failed)));
            worker.postMessage({ module, memory, control, stack: stacks + (i + 1) * STACK_BYTES });
          }),
      );
      /** @type {ReturnType<typeof setTimeout> | undefined} */
      let timer;
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${START_MS / 1000} s`)), START_MS);
      });
      try {
        await Promise.race([Promise.all(ready), failed, late]);
      } finally {
        clearTimeout(timer);
      }
    },
    dispose,
  };
}
