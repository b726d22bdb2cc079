// The options of `load`, with their defaults.
import { UnsupportedError } from './errors.js';

const names = ['backend', 'threads', 'worker', 'warmup', 'onProgress'];

/**
 * @param {import('./model.js').LoadOptions} options
 * @param {readonly string[]} backends those of this bundle
 */
export function checkOptions(options, backends) {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`load expects an object of options, got ${options === null ? 'null' : typeof options}`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name))
      throw new TypeError(`load has no option ${JSON.stringify(name)}; it has: ${names.join(', ')}`);
  }
  const { backend = 'auto', threads = 1, worker = true, warmup = false, onProgress = () => {} } = options;
  if (backend !== 'auto' && !backends.includes(backend)) {
    const have = backends.join(', ');
    throw new UnsupportedError(
      'backend',
      `this bundle has no backend ${JSON.stringify(backend)}; it has: ${have}, or 'auto'`,
    );
  }
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1)) {
    throw new RangeError(`threads: expected 'auto' or a whole number from 1, got ${String(threads)}`);
  }
  if (typeof worker !== 'boolean') throw new TypeError(`worker: expected true or false, got ${typeof worker}`);
  if (typeof warmup !== 'boolean') throw new TypeError(`warmup: expected true or false, got ${typeof warmup}`);
  if (typeof onProgress !== 'function')
    throw new TypeError(`onProgress: expected a function, got ${typeof onProgress}`);
  return { threads, worker, warmup, onProgress };
}
