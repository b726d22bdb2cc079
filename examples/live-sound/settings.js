// What the page has to know of the model beside what its file says.

/** Samples in a second. */
export const RATE = 16000;
/** New samples of a run. Where the model's input is longer, the samples before them precede. */
export const HOP = 512;
/** Names for the elements of the output. */
export const NAMES = ['voice', 'whistle', 'clap'];
