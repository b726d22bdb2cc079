// The start of threads, in a script of its own: a page fetches it only for a run on several threads.

/**
 * Fetches the script, and starts to load that of each worker.
 * @type {import('./start_threads.js').StartThreads}
 */
export function startThreads(count, timeout) {
  const starting = import('./start_threads.js').then((script) => script.startThreads(count, timeout));
  starting.catch(() => {}); // join reports it
  return {
    join: async (start) => (await starting).join(start),
    dispose: () =>
      starting.then(
        (pool) => pool.dispose(),
        () => {},
      ),
  };
}
