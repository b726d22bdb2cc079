// The options of `load`, with their defaults, and those of `run`.
import { tagOf } from './dtypes.js';
import { UnsupportedError } from './errors.js';

const names = ['backend', 'threads', 'worker', 'warmup', 'device', 'onProgress'];

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
  const { backend = 'auto', threads = 1, warmup = false, device, onProgress = () => {} } = options;
  // Who loads in a worker has left the page free already, and Firefox may hang there: start_threads.js says where.
  const { worker = device === undefined && typeof document !== 'undefined' } = options;
  if (!['auto', ...backends].includes(device ? 'webgpu' : backend)) {
    const have = backends.join(', ');
    throw new UnsupportedError(
      'backend',
      `this bundle has no backend ${JSON.stringify(device ? 'webgpu' : backend)}; it has: ${have}, or 'auto'`,
    );
  }
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1)) {
    throw new RangeError(`threads: expected 'auto' or a whole number from 1, got ${String(threads)}`);
  }
  if (typeof worker !== 'boolean') throw new TypeError(`worker: expected true or false, got ${typeof worker}`);
  if (typeof warmup !== 'boolean') throw new TypeError(`warmup: expected true or false, got ${typeof warmup}`);
  if (device !== undefined && (tagOf(device) !== 'GPUDevice' || worker)) {
    throw new TypeError('device: expected a GPUDevice, and no worker: a device stays where it was made');
  }
  if (typeof onProgress !== 'function')
    throw new TypeError(`onProgress: expected a function, got ${typeof onProgress}`);
  return { backend: device ? 'webgpu' : backend, threads, worker, warmup, device, onProgress };
}

/**
 * @param {import('./model.js').RunOptions} options
 * @param {{ backend: string, worker: boolean }} info
 */
export function checkRunOptions(options, { backend, worker }) {
  const unknown = Object.keys(options).find((name) => name !== 'output');
  if (unknown !== undefined) throw new TypeError(`run has no option ${JSON.stringify(unknown)}; it has: output`);
  const { output = 'array' } = options;
  if (output !== 'array' && output !== 'gpu-buffer') {
    throw new TypeError(`output: expected 'array' or 'gpu-buffer', got ${String(output)}`);
  }
  if (output === 'gpu-buffer' && (backend !== 'webgpu' || worker)) {
    throw new TypeError(
      `output 'gpu-buffer' needs the backend webgpu without a worker: load({ backend: 'webgpu', worker: false }); ` +
        `this model runs on ${backend}${worker ? ' in a worker' : ''}`,
    );
  }
}
