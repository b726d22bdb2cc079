// The script of the backend wasm. The page's side of a worker needs it, too: for threads, and for runs by shared memory.

export { listVariants } from '../wasm/features.js';
export { startWasm as start } from '../wasm/start_wasm.js';
export { mailboxes } from './mailbox.js';
export { startThreads } from './start_threads.js';
