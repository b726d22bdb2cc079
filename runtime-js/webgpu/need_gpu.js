// WebGPU as the browser offers it. A page looks for it before it fetches any script of the backend: workers have no more.
import { UnsupportedError } from '../errors.js';

/** @throws {UnsupportedError} `backend` */
export function needGpu() {
  const { gpu } = globalThis.navigator ?? {}; // Node.js 20 has no navigator
  if (gpu) return gpu;
  const why = globalThis.isSecureContext !== false ? '' : ': the page is not served over https or localhost';
  throw new UnsupportedError('backend', `this browser offers no WebGPU here${why}`);
}
