// A script that is imported once it is known to be needed. Browsers say little of why one did not load.
import { DownloadError } from '../errors.js';
import { unlessAborted } from './unless_aborted.js';

/**
 * The exports of a script that arrives within the time that its downloads have.
 * @template T
 * @param {string} what it is for, in messages
 * @param {Promise<T>} importing
 * @param {import('./watch_downloads.js').Downloads} downloads
 * @param {string} [hint] what to do where it did not load
 * @returns {Promise<T>}
 * @throws {DownloadError} `stalled`, or `network` with `file`
 */
export async function importScript(what, importing, downloads, hint = '') {
  try {
    return await downloads.receive(`the script of ${what}`, (signal) => unlessAborted(importing, [signal], () => {}));
  } catch (error) {
    if (error instanceof DownloadError) throw error; // silence
    const { message } = /** @type {Error} */ (error);
    const text = `the script of ${what} did not load (${message})${hint}`;
    throw Object.assign(new DownloadError('network', text), { file: what });
  }
}
