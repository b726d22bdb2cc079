// The backends, each a script of its own, of which a page downloads the one that it takes: the compiler leaves out those that are
// not among a bundle's targets.

export const wasm = () => import('../worker/backend_wasm.js');
export const webgl = () => import('../worker/backend_webgl.js');
export const webgpu = () => import('../worker/backend_webgpu.js');
