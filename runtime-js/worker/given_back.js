// Inputs that a worker gives back where a call of it fails: the caller's arrays may have others by then.

/** @type {WeakMap<Error, any>} by the errors */
export const givenBack = new WeakMap();
