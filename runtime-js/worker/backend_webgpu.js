// The script of the backend webgpu.

export { startWebgpu as start } from '../webgpu/start_webgpu.js';
