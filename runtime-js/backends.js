// The backends of this bundle: the compiler leaves out the lines of those that it was not asked for.
export { startWasm as wasm } from './start_wasm.js';
export { startWebgl as webgl } from './start_webgl.js';
export { startWebgpu as webgpu } from './start_webgpu.js';
