// Parts that not every device program needs: the compiler leaves out the lines of those that a model does without.

export { playStructure } from './play_structures.js';
export { host } from './start_host.js';
