// The backends of this bundle: the compiler leaves out the lines of those that are not among its targets.
export { startWasm as wasm } from './wasm/start_wasm.js';
export { startWebgl as webgl } from './webgl/start_webgl.js';
export { startWebgpu as webgpu } from './webgpu/start_webgpu.js';
