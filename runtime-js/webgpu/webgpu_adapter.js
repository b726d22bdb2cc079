// The adapter of WebGPU. A page looks for it before it fetches any script of the backend: workers have no more.
import { refuseSoftware } from '../device/software_adapter.js';
import { UnsupportedError } from '../errors.js';

/** @throws {UnsupportedError} `backend` */
export async function requestAdapter() {
  const { gpu } = globalThis.navigator ?? {}; // Node.js 20 has no navigator
  if (!gpu) {
    const why = globalThis.isSecureContext !== false ? '' : ': the page is not served over https or localhost';
    throw new UnsupportedError('backend', `there is no WebGPU here${why}`);
  }
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' });
  if (!adapter) throw new UnsupportedError('backend', 'WebGPU finds no adapter: no GPU, or one that is blocked');
  return adapter;
}

/** @param {GPUAdapterInfo | undefined} info */
export const nameOf = (info) => {
  const parts = [info?.vendor, info?.architecture, info?.device].filter(Boolean).join(' ');
  return `${info?.description || parts || 'not named'}${info?.isFallbackAdapter ? ' (fallback)' : ''}`;
};

/** @throws {UnsupportedError} where there is no adapter, or one of software */
export async function needWebgpu() {
  const { info } = await requestAdapter();
  refuseSoftware(nameOf(info));
}
