// Gives a test what the bundle exports; the import is static, as in a user's page.
import * as bundle from './bundle/model.js';

globalThis.bundle = bundle;

/** The outcome of a promise as plain data. */
globalThis.outcome = (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, code: error.code, message: error.message }),
  );
document.documentElement.dataset.ready = '';
