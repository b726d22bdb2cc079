// As expose.js, for a classic script.
globalThis.bundle = globalThis.tiny;

/** The outcome of a promise as plain data. */
globalThis.outcome = (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, code: error.code, message: error.message }),
  );
document.documentElement.dataset.ready = '';
