// What uses the model or measures on the device goes one after the other: side by side, times would be wrong.

/** @type {Promise<unknown>} */
let last = Promise.resolve();
let waiting = 0;

/**
 * Calls `action` after those before it have ended. Meanwhile `body.dataset.busy` names what goes on.
 * @template T
 * @param {string} name
 * @param {() => T | Promise<T>} action
 * @returns {Promise<T>}
 */
export function inTurn(name, action) {
  waiting++;
  if (waiting === 1) document.body.dataset.busy = name;
  const result = last.then(() => {
    document.body.dataset.busy = name;
    return action();
  });
  last = result
    .catch(() => {}) // it is the caller's
    .then(() => {
      waiting--;
      if (waiting === 0) document.body.dataset.busy = '';
    });
  return result;
}
