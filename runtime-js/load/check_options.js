// The options of `load`, with their defaults, and those of `run`.

import { UnsupportedError } from '../errors.js';
import { checkNames, kindOf, printed } from '../values/check_names.js';
import { tagOf } from '../values/dtypes.js';

const names = [
  'backend',
  'threads',
  'worker',
  'warmup',
  'device',
  'onProgress',
  'signal',
  'timeout',
  'cache',
  'verify',
  'canaries',
  'onCanaries',
];
// <states>
names.push('restoreState');
// </states>
// <signature>
names.push('publicKey');
// </signature>
const TIMEOUT = 30_000; // ms of silence: mobile networks come back after less

/**
 * @param {import('../model.js').LoadOptions} options
 * @param {readonly string[]} backends those of this bundle
 */
export function checkOptions(options, backends) {
  checkNames('load', options, names);
  const { backend = 'auto', threads = 1, warmup = false, device, onProgress, cache = false } = options;
  let { signal, timeout = TIMEOUT, verify = false } = options;
  // <finite>
  if (verify === 'non-finite') verify = false; // it compares no runs
  // </finite>
  // A load in a worker leaves the page free already, and Firefox may hang there (start_threads.js).
  const { worker = device === undefined && typeof document !== 'undefined' } = options;
  if (!['auto', ...backends].includes(device ? 'webgpu' : backend)) {
    const have = backends.join(', ');
    throw new UnsupportedError(
      'backend',
      `this bundle has no backend "${printed(device ? 'webgpu' : backend)}"; it has: ${have}, or 'auto'`,
    );
  }
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1)) {
    throw new RangeError(`threads: expected 'auto' or a whole number from 1, got ${printed(threads)}`);
  }
  for (const [name, value] of Object.entries({ worker, warmup, cache }))
    if (typeof value !== 'boolean') throw new TypeError(`${name}: expected true or false, got ${kindOf(value)}`);
  if (device !== undefined && (tagOf(device) !== 'GPUDevice' || worker)) {
    throw new TypeError('device: expected a GPUDevice, and no worker: a device stays where it was made');
  }
  checkFunction('onProgress', onProgress);
  checkSignal(signal);
  // <states>
  const { restoreState = false } = options;
  if (typeof restoreState !== 'boolean')
    throw new TypeError(`restoreState: expected true or false, got ${kindOf(restoreState)}`);
  // </states>
  // <canaries>
  const { canaries = true } = options;
  if (canaries !== 'all' && typeof canaries !== 'boolean')
    throw new TypeError(`canaries: expected true, false or 'all', got ${printed(canaries)}`);
  checkFunction('onCanaries', options.onCanaries);
  // </canaries>
  if (typeof timeout !== 'number' || !(timeout >= 0)) {
    throw new RangeError(`timeout: expected milliseconds from 0, got ${printed(timeout)}`);
  }
  return {
    backend: device ? 'webgpu' : backend,
    threads,
    worker,
    warmup,
    device,
    onProgress,
    signal,
    timeout,
    cache,
    verify,
  };
}

/** @type {(name: string, given: unknown) => void} */
const checkFunction = (name, given) => {
  if (given !== undefined && typeof given !== 'function')
    throw new TypeError(`${name}: expected a function, got ${typeof given}`);
};

/**
 * @param {import('../model.js').RunOptions} options
 * @param {{ backend: string, worker: boolean }} info
 */
export function checkRunOptions(options, { backend, worker }) {
  checkNames('run', options, ['output', 'into', 'signal']);
  const { output = 'array', into, signal } = options;
  checkSignal(signal);
  if (output !== 'array' && output !== 'gpu-buffer') {
    throw new TypeError(`output: expected 'array' or 'gpu-buffer', got ${printed(output)}`);
  }
  if (output === 'gpu-buffer' && (backend !== 'webgpu' || worker)) {
    throw new TypeError(
      `output 'gpu-buffer' needs the backend webgpu without a worker: load({ backend: 'webgpu', worker: false }); ` +
        `this model runs on ${backend}${worker ? ' in a worker' : ''}`,
    );
  }
  if (output === 'gpu-buffer' && into)
    throw new TypeError("into: outputs go to arrays or, with output 'gpu-buffer', to new buffers: leave one out");
  return { output };
}

/** @param {import('../model.js').ProfileOptions} options */
export function checkProfileOptions(options) {
  checkNames('profile', options, ['signal', 'repeat']);
  const { signal, repeat = 1 } = options;
  checkSignal(signal);
  if (!(Number.isInteger(repeat) && repeat >= 1))
    throw new RangeError(`repeat: expected a whole number from 1, got ${printed(repeat)}`);
  return repeat;
}

// <check>
/** @param {import('../model.js').CheckOptions} options */
export function checkCheckOptions(options) {
  checkNames('check', options, ['signal']);
  checkSignal(options.signal);
}
// </check>

/** @param {unknown} signal */
function checkSignal(signal) {
  if (signal !== undefined && tagOf(signal) !== 'AbortSignal')
    throw new TypeError(`signal: expected an AbortSignal, got ${kindOf(signal)}`);
}
