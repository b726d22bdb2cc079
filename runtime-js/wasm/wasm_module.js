// Memory and code of a WebAssembly module, with errors that name a remedy.
import { UnsupportedError } from '../errors.js';
import { nameOf } from '../fetch/fetch_file.js';

/**
 * @param {number} pages of 64 KiB
 * @param {boolean} [shared]
 * @param {number} [most] pages that it may grow to, where the system allows that
 * @returns {WebAssembly.Memory}
 */
export function allocate(pages, shared = false, most = 0) {
  try {
    // A small maximum: some systems set all of it aside.
    return new WebAssembly.Memory({ initial: pages, maximum: Math.max(pages, most), shared });
  } catch (error) {
    // <states>
    if (most) return allocate(pages, shared);
    // </states>
    const size = `${Math.ceil(pages / 16)} MiB`;
    throw new UnsupportedError('memory', `the ${size} of memory that the model needs could not be allocated: ${error}`);
  }
}

/**
 * @param {Uint8Array<ArrayBuffer>} code
 * @param {string} url
 * @param {string} [purpose] of the code
 */
export const compile = (code, url, purpose = '') =>
  WebAssembly.compile(code).catch((error) => {
    const hint = `a Content-Security-Policy needs script-src 'wasm-unsafe-eval'${purpose && `, ${purpose}`}`;
    throw new UnsupportedError('compile', `the browser refused to compile ${nameOf(url)} (${hint}): ${error.message}`);
  });
