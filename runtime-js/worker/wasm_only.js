// Parts of both sides of a worker that sessions of wasm alone need: the compiler leaves out their lines where there is none.

export { mailboxes } from './mailbox.js';
