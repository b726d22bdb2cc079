// Workers of a classic script that holds the whole runtime: it is their script, too, and knows them by their names.

import { isElsewhere } from '../fetch/is_elsewhere.js';
import { withTrust } from '../worker/trusted_url.js';

/**
 * @typedef {object} Meta In place of import.meta.
 * @property {string} [url] of the script, where it holds no weights: a worker loads it again
 * @property {() => string} source of a script for workers
 */
const meta = /** @type {Meta} */ (/** @type {unknown} */ (import.meta));

/** @type {string | undefined} */
let blob;

/**
 * @param {unknown} _create what ES modules do
 * @param {string} script the name of what the worker is
 */
export const createWorker = (_create, script) =>
  withTrust((trusted = String) => new Worker(trusted(address()), { name: `webnn-compile ${script}` }));

/** Pages may refuse URLs of blobs, and browsers refuse scripts of other origins and of pages that are files. */
function address() {
  const { url, source } = meta;
  if (url && !url.startsWith('file:') && !isElsewhere(url)) return url;
  blob ??= URL.createObjectURL(new Blob([source()], { type: 'text/javascript' }));
  return blob;
}
