// Every way in which loading or running can fail. `code` distinguishes the cases of a class.
// A wrong argument is no case of these: it rejects with a plain TypeError or RangeError.

/** @typedef {import('./model.js').KernelFault[]} Faults of kernels that gave wrong results, a property of the error */
/** @typedef {{ name: string, message: string, code?: string, file?: string, faults?: Faults }} PlainError What crosses from the worker. */

export class ModelError extends Error {
  /** @type {string | undefined} the file at fault, where it is one: its URL, or the backend whose script it is */
  file;

  /**
   * @param {string} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.code = code;
    this.name = 'ModelError';
  }
}

/**
 * A file did not arrive. Codes: `network`, `http` (an error status), `html` (a page in place of the file),
 * `stalled` (nothing more came for a time).
 */
export class DownloadError extends ModelError {
  /** @override */
  name = 'DownloadError';
}

/** A file arrived with other bytes than the compiler wrote. Codes: `length`, `altered`. */
export class IntegrityError extends ModelError {
  /** @override */
  name = 'IntegrityError';
}

/**
 * The browser or the bundle cannot do it. Codes: `abi`, `backend`, `limits`, `simd`, `compile`, `memory`, `signature`,
 * `check`, `wrong-results`;
 * `software` is never thrown, but a reason for another backend.
 */
export class UnsupportedError extends ModelError {
  /** @override */
  name = 'UnsupportedError';
}

/** The worker did not start (`start`) or died (`crash`). */
export class WorkerError extends ModelError {
  /** @override */
  name = 'WorkerError';
}

/**
 * A run failed. Codes: `trap` (the compiled code stopped), `device` (the GPU reported an error), `refused` (its inputs lead to
 * a branch that does not fit the sizes that the model was compiled for), `disposed`, `wrong-results` (other ones than on wasm).
 */
export class RunError extends ModelError {
  /** @override */
  name = 'RunError';
}

/**
 * The compiled code stopped.
 * @param {Error} error
 */
export const trapped = ({ message }) => new RunError('trap', `the compiled model stopped: ${message}; load it again`);

/** The GPU was taken away (`lost`), and a second attempt failed too. */
export class DeviceLostError extends ModelError {
  /** @override */
  name = 'DeviceLostError';
}

// <states>
/** A run that needs more room than the states of its session have (`state-full`): it computes nothing. */
export class StateFullError extends ModelError {
  /** @override */
  name = 'StateFullError';
}

/** States that are gone with the GPU, or undefined after a run that failed (`state-lost`). */
export class StateLostError extends ModelError {
  /** @override */
  name = 'StateLostError';
}
// </states>

const classes = { ModelError, DownloadError, IntegrityError, UnsupportedError, WorkerError, RunError, DeviceLostError };
const builtins = { TypeError, RangeError };

/**
 * An error as plain data: structured clone keeps neither the class nor `code`.
 * @param {unknown} error
 * @returns {PlainError}
 */
export function packError(error) {
  const { name, message, code, file, faults } = /** @type {PlainError} */ (
    error instanceof Error ? error : new Error(String(error))
  );
  return { name, message, code, file, faults };
}

/**
 * @param {PlainError} plain
 * @returns {Error}
 */
export function unpackError({ name, message, code, ...more }) {
  if (name in classes) {
    return Object.assign(new classes[/** @type {keyof typeof classes} */ (name)](code ?? '', message), more);
  }
  const Builtin = name in builtins ? builtins[/** @type {keyof typeof builtins} */ (name)] : Error;
  return new Builtin(message);
}
