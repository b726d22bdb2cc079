// The downloads of one load, which end together: when the load is aborted, one of them fails or nothing arrives any more.
// Browsers queue requests for a connection, so silence is counted over all of them.
import { DownloadError } from '../errors.js';
import { seconds, watchSilence } from './watch_silence.js';

/**
 * @typedef {object} Downloads
 * @property {<T>(url: string, task: (signal: AbortSignal, onActivity: () => void) => Promise<T>) => Promise<T>} receive one
 * file; the task calls `onActivity` whenever something arrives
 * @property {() => void} end what has not arrived is given up
 * @property {import('./keep_files.js').Store} [store] where files are kept
 */

/**
 * @param {{ signal?: AbortSignal | undefined, timeout?: number, onActivity?: () => void, store?: import('./keep_files.js').Store }} [plan]
 * `timeout`: ms of silence; `onActivity` is called when a file is requested, whenever something arrives and when nothing more is awaited of it
 * @param {import('./watch_silence.js').Clock} [clock]
 * @returns {Downloads}
 */
export function watchDownloads({ signal, timeout = 0, onActivity = () => {}, store } = {}, clock) {
  const abort = new AbortController();
  const giveUp = () => abort.abort();
  if (signal?.aborted) giveUp();
  signal?.addEventListener('abort', giveUp);
  /** @type {Set<{ url: string }>} in the order in which they began */
  const pending = new Set();
  /** @type {import('./watch_silence.js').Watch | undefined} */
  let watch;
  /** @type {DownloadError | undefined} */
  let stalled;
  const onSilence = () => {
    const [first] = pending;
    const more = pending.size > 1 ? ` and ${pending.size - 1} more` : '';
    stalled = new DownloadError(
      'stalled',
      `nothing arrived of ${first?.url}${more} for ${seconds(timeout)}: try again, or load with a longer { timeout }`,
    );
    giveUp();
  };
  return {
    ...(store && { store }),
    async receive(url, task) {
      const file = { url };
      pending.add(file);
      watch ??= watchSilence(timeout, onSilence, clock);
      onActivity();
      try {
        return await task(abort.signal, () => {
          watch?.onActivity();
          onActivity();
        });
      } catch (error) {
        throw stalled ?? error;
      } finally {
        onActivity();
        pending.delete(file);
        if (!pending.size) {
          watch?.stop();
          watch = undefined;
        }
      }
    },
    end() {
      signal?.removeEventListener('abort', giveUp);
      if (pending.size) giveUp();
    },
  };
}
