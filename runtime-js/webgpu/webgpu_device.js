// The WebGPU device that a program needs: limits compared, and requested only beyond what every adapter has.
import { checkLimits } from '../device/check_limits.js';
import { UnsupportedError } from '../errors.js';
import { nameOf } from './webgpu_adapter.js';

/** @typedef {import('../device/device_program.js').Program} Program */

/** @type {Record<string, number>} What every adapter has; only what goes beyond is requested. */
const defaults = {
  maxStorageBuffersPerShaderStage: 8,
  maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28,
  maxComputeWorkgroupsPerDimension: 65535,
};

/**
 * @param {Program} program
 * @returns {Record<string, number>}
 */
function needsOf({ kernels, storages }) {
  const most = Math.max(4, ...storages.map(({ bytes }) => bytes));
  return {
    maxStorageBuffersPerShaderStage: Math.max(1, ...kernels.map(({ access }) => access.length)),
    maxStorageBufferBindingSize: most,
    maxBufferSize: most,
    maxComputeWorkgroupsPerDimension: Math.max(
      1,
      ...kernels.flatMap(({ grid }) => grid.filter((n) => typeof n === 'number')),
    ),
  };
}

/**
 * @param {Program} program
 * @param {GPUAdapter | GPUDevice} adapter
 */
export async function getDevice(program, adapter) {
  const needs = needsOf(program);
  const limitOf = (/** @type {string} */ name) => /** @type {any} */ (adapter.limits)[name];
  const limits = checkLimits(needs, limitOf, (have) => `this WebGPU adapter has ${have}`);
  for (const feature of program.features) {
    if (!adapter.features.has(/** @type {GPUFeatureName} */ (feature)))
      throw new UnsupportedError('limits', `the model needs the feature ${feature}, which this WebGPU adapter lacks`);
  }
  const extra = program.kernels.some(({ subgroups }) => subgroups) ? ['subgroups'] : [];
  const features = /** @type {GPUFeatureName[]} */ ([
    ...program.features,
    ...extra.filter((feature) => adapter.features.has(feature)),
  ]);
  const facts = { features, limits };
  if ('queue' in adapter) return { device: adapter, ...facts, adapter: nameOf(adapter.adapterInfo) };
  const timer = /** @type {GPUFeatureName[]} */ (adapter.features.has('timestamp-query') ? ['timestamp-query'] : []);
  const over = Object.entries(needs).filter(([name, need]) => need > (defaults[name] ?? 0));
  const device = await adapter
    .requestDevice({
      requiredFeatures: [...features, ...timer],
      requiredLimits: Object.fromEntries(over),
    })
    .catch((error) => {
      throw new UnsupportedError('backend', `WebGPU has no device: ${error.message}`);
    });
  return { device, ...facts, adapter: nameOf(adapter.info) };
}

/**
 * Waits for work of the device; quickly in Firefox, too.
 * @param {GPUQueue} queue
 * @param {Promise<unknown>} done
 */
export async function untilDone(queue, done) {
  // Firefox looks whether something is done when something is submitted, else ten times a second.
  let waiting = !!globalThis.navigator?.userAgent?.includes('Firefox');
  const stop = () => {
    waiting = false;
  };
  done.then(stop, stop);
  for (let ms = 0; waiting; ms = Math.min(ms + 1, 5)) {
    queue.submit([]);
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
  await done;
}
