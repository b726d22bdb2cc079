// What a backend needs of the browser, known before its script is fetched: the compiler leaves out those that are not among a bundle's
// targets.

export { needGpu as webgpu } from '../webgpu/need_gpu.js';
