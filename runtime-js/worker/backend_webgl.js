// The script of the backend webgl.

export { startWebgl as start } from '../webgl/start_webgl.js';
