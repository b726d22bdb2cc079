// A promise that others may end. AbortSignals have a reason since Chrome 98, Firefox 97 and Safari 15.4.

/** @param {AbortSignal} signal that is aborted */
export const reasonOf = (signal) => signal.reason ?? new DOMException('The operation was aborted.', 'AbortError');

/**
 * The value of the promise, or a rejection as soon as one of the signals is aborted; a value that comes later goes to
 * `drop`.
 * @template T
 * @param {Promise<T>} promise
 * @param {readonly AbortSignal[]} signals none is aborted yet
 * @param {(late: T) => void} drop
 * @returns {Promise<T>}
 */
export function unlessAborted(promise, signals, drop) {
  return new Promise((resolve, reject) => {
    let over = false;
    const end = () => {
      over = true;
      for (const signal of signals) signal.removeEventListener('abort', stop);
    };
    const stop = (/** @type {Event} */ { target }) => {
      end();
      reject(reasonOf(/** @type {AbortSignal} */ (target)));
    };
    for (const signal of signals) signal.addEventListener('abort', stop);
    promise.then(
      (value) => {
        if (over) return drop(value);
        end();
        resolve(value);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}
