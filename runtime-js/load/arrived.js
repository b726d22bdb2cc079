// Scripts of the bundle that `load` imports later.
import { BUNDLERS } from '../fetch/fetch_file.js';
import { importScript } from '../fetch/import_script.js';
import { watchDownloads } from '../fetch/watch_downloads.js';

/**
 * The exports of a script of the bundle, once they are here.
 * @template T
 * @param {string} what it is for, in messages
 * @param {Promise<T>} importing
 * @param {number} timeout
 */
export const arrived = (what, importing, timeout) =>
  importScript(
    what,
    importing,
    watchDownloads({ timeout }),
    `: is it beside model.js (${BUNDLERS})? Service workers take --format iife`,
  );
