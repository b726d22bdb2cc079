// Workers of an ES module.

import { withTrust } from './trusted_url.js';

/**
 * @param {() => Worker} create by the expression that bundlers look for, which takes no trusted URL: so it goes first
 * @param {string} script its file, in the folder of this one
 */
export const createWorker = (create, script) =>
  withTrust((trusted) =>
    trusted
      ? new Worker(trusted(new URL(/* webpackIgnore: true */ script, import.meta.url).href), { type: 'module' })
      : create(),
  );
