// How many threads a model gets.

/** @typedef {{ threads: number, reason: string }} ThreadCount */

const AUTO_MOST = 8;

/**
 * How many threads can be had here, and why.
 * @param {number | 'auto'} requested
 * @param {boolean} able whether the module has loops for several threads
 * @returns {ThreadCount}
 */
export function countThreads(requested, able) {
  const one = (/** @type {string} */ reason) => ({ threads: 1, reason });
  if (requested === 1) return one('one was asked for');
  if (!able) return one('no loop of this model is worth more than one thread');
  if (typeof Worker !== 'function') return one('there are no workers here');
  if (!globalThis.crossOriginIsolated) {
    return one(
      'the page is not cross-origin isolated: serve it with the headers Cross-Origin-Opener-Policy: same-origin and ' +
        'Cross-Origin-Embedder-Policy: require-corp',
    );
  }
  if (typeof document !== 'undefined') return one("the page's own thread may not wait: leave `worker` at true");
  const processors = navigator.hardwareConcurrency || 1;
  if (requested !== 'auto') return { threads: requested, reason: 'so many were asked for' };
  // Two logical processors often share one core's arithmetic.
  const threads = Math.min(AUTO_MOST, Math.max(Math.min(2, processors), processors >> 1));
  return { threads, reason: `the browser reports ${processors} logical processor${processors === 1 ? '' : 's'}` };
}
