// A constant of sessions and of threads, whose scripts have little else in common.

/** Bytes from the upper end of a thread's stack down to the operands by which it is tried: it uses less of the stack then. */
export const OPERANDS_AT = 32768;
