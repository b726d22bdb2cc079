// The backends on the thread that loads the model, each a script of its own, of which a page downloads the one that it takes: the
// compiler leaves out those that are not among a bundle's targets.

export const wasm = () => import('../wasm/start_wasm.js').then(({ startWasm }) => startWasm);
export const webgl = () => import('../webgl/start_webgl.js').then(({ startWebgl }) => startWebgl);
export const webgpu = () => import('../webgpu/start_webgpu.js').then(({ startWebgpu }) => startWebgpu);
