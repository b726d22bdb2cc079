// Parts that sessions of wasm need on the side of the page: the compiler leaves out their lines where a bundle has none. They are no
// script of their own, for a page that once failed to import one fails for ever: with these in place, load can be called again.

export { listVariants } from '../wasm/features.js';
export { mailboxes } from './mailbox.js';
export { startThreads } from './threads_later.js';
