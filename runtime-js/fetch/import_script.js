// A script that is imported once it is known to be needed. Browsers say little of why one did not load.
import { DownloadError } from '../errors.js';
import { unlessAborted } from './unless_aborted.js';

/**
 * The exports of a script that arrives within the time that its downloads have.
 * @template T
 * @param {string} name of the script, in messages
 * @param {Promise<T>} importing
 * @param {import('./watch_downloads.js').Downloads} downloads
 * @param {string} [hint] what to do where it did not load
 * @returns {Promise<T>}
 * @throws {DownloadError} `stalled`, or `network` with `url`
 */
export async function importScript(name, importing, downloads, hint = '') {
  try {
    return await downloads.receive(name, (signal) => unlessAborted(importing, [signal], () => {}));
  } catch (error) {
    if (error instanceof DownloadError) throw error; // silence
    const { message } = /** @type {Error} */ (error);
    throw Object.assign(new DownloadError('network', `${name} did not load (${message})${hint}`), { url: name });
  }
}
