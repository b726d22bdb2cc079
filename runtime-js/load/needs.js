// What a backend needs of the browser where others can take its place, known before its scripts are fetched and a worker is started: the
// compiler leaves out those that are not among a bundle's targets.

export { needWebgl as webgl } from '../webgl/webgl_adapter.js';
export { needWebgpu as webgpu } from '../webgpu/webgpu_adapter.js';
