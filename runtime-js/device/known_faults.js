// Kernels that a driver was found to compute wrongly, by the program that they are of, in the browser's IndexedDB. Without it, as
// in some private windows, each visit finds them anew.

/** @typedef {{ where: string, faults: import('../model.js').KernelFault[] }} Known `where`: adapter and browser */

const NAME = 'webnn-compile';
const PATIENCE = 500; // ms: some browsers never answer

/**
 * Faults that are known of a program.
 * @param {string} program hash of its file
 * @returns {Promise<Known | undefined>}
 */
export const recall = (program) => using((store) => store.get(program));

/**
 * @param {string} program hash of its file
 * @param {Known | undefined} known undefined: nothing any more
 */
export const remember = (program, known) =>
  using((store) => (known ? store.put(known, program) : store.delete(program)));

/**
 * The result of a request; undefined where there is no database.
 * @param {(store: IDBObjectStore) => IDBRequest} use
 * @returns {Promise<any>}
 */
const using = (use) =>
  new Promise((resolve) => {
    setTimeout(resolve, PATIENCE);
    const opening = indexedDB.open(NAME);
    opening.onupgradeneeded = () => opening.result.createObjectStore(NAME);
    opening.onerror = () => resolve(undefined);
    opening.onsuccess = () => {
      const request = use(opening.result.transaction(NAME, 'readwrite').objectStore(NAME));
      request.onsuccess = () => resolve(request.result);
      opening.result.close(); // when it is done
    };
  }).catch(() => {});
