// Constants of sessions and of threads, whose scripts have little else in common.

/** Stack of each thread but the first, whose stack is the module's own. */
export const STACK_BYTES = 65536;

/** Bytes from the upper end of a thread's stack down to the operands by which it is tried: it uses less of the stack then. */
export const OPERANDS_AT = 32768;
