// The same on the side of the page.

export { listVariants } from '../wasm/features.js';
export { startThreads } from './start_threads.js';
