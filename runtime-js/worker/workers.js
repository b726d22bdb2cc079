// A worker for each backend: the compiler leaves out those that are not among a bundle's targets. Bundlers recognise these very
// expressions, and include the scripts of workers.
import { createWorker } from './create_worker.js';

export const wasm = () =>
  createWorker(() => new Worker(new URL('./worker_wasm.js', import.meta.url), { type: 'module' }), './worker_wasm.js');
export const webgl = () =>
  createWorker(
    () => new Worker(new URL('./worker_webgl.js', import.meta.url), { type: 'module' }),
    './worker_webgl.js',
  );
export const webgpu = () =>
  createWorker(
    () => new Worker(new URL('./worker_webgpu.js', import.meta.url), { type: 'module' }),
    './worker_webgpu.js',
  );
