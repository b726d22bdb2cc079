// The script of the backend wasm.

export { startWasm as start } from '../wasm/start_wasm.js';
export { mailboxes } from './serve_mailbox.js';
