// The compiler's worker as a page has it: started when it is needed, and again when it died.

import { createWorker } from '../../../runtime-js/worker/create_worker.js';
import { CompileError } from './compile_error.js';

/** @typedef {import('./types.js').Progress} Progress */
/** @typedef {[string, Blob | Uint8Array][]} Files */
/** @typedef {{ result: any, files: [string, Uint8Array<ArrayBuffer>][], ended?: boolean }} Answer `ended`: the worker is to end */
/**
 * @typedef {object} Call
 * @property {string} op
 * @property {any} [request]
 * @property {Files} [files]
 * @property {import('./page_calls.js').Line} [line] for requests from the worker to the page
 * @property {((progress: Progress) => void) | undefined} [onProgress]
 * @property {AbortSignal | undefined} [signal]
 * @property {number | undefined} [maxSeconds] after which the worker is ended
 */

const closed = () => new CompileError('crash', 'the compiler was closed');

/**
 * @param {number} maxSeconds
 * @param {string} phase
 */
const tooLong = (maxSeconds, phase) =>
  new CompileError(
    'input',
    `maxSeconds ${maxSeconds}: compiling took longer; it was at ${phase}: allow more, or give the model smaller or fixed sizes`,
  );

export class CompileWorker {
  /** @type {Worker | undefined} */
  #worker;
  /** @type {Promise<void> | undefined} */
  #started;
  /** @type {Promise<unknown>} */
  #queue = Promise.resolve();
  /** @type {{ id: number, resolve: (answer: Answer) => void, reject: (reason: any) => void, onProgress: Call['onProgress'] } | undefined} */
  #current;
  #last = 0;
  #ready = false;
  #closed = false;
  #onRestart;

  /** @param {(reason: string) => void} [onRestart] */
  constructor(onRestart) {
    this.#onRestart = onRestart;
  }

  /**
   * Starts the worker, unless it runs.
   * @param {Call['onProgress']} onProgress
   * @param {AbortSignal} [signal]
   */
  start(onProgress, signal) {
    return this.#enqueue(() => this.#start(onProgress, signal), signal);
  }

  /**
   * Calls are carried out one after the other. An abort ends the worker, whose work cannot be interrupted.
   * @param {Call} call
   * @returns {Promise<Answer>}
   */
  call(call) {
    const { signal, onProgress } = call;
    return this.#enqueue(async () => {
      await this.#start(onProgress, signal);
      return this.#post(call);
    }, signal);
  }

  close() {
    this.#closed = true;
    this.#end(closed());
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<T>}
   */
  #enqueue(work, signal) {
    const turn = this.#queue.then(() => {
      signal?.throwIfAborted();
      if (this.#closed) throw closed();
      return work();
    });
    this.#queue = turn.catch(() => {});
    if (!signal) return turn;
    // A call that waits ends at once.
    const over = new AbortController();
    const aborted = new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal });
    });
    return Promise.race([turn, /** @type {Promise<T>} */ (aborted)]).finally(() => over.abort());
  }

  /**
   * @param {Call['onProgress']} onProgress
   * @param {AbortSignal | undefined} signal
   */
  async #start(onProgress, signal) {
    this.#started ??= this.#create(onProgress, signal);
    try {
      await this.#started;
    } catch (error) {
      this.#started = undefined;
      throw error;
    }
  }

  /**
   * @param {Call['onProgress']} onProgress
   * @param {AbortSignal | undefined} signal
   */
  async #create(onProgress, signal) {
    const url = new URL('./worker.js', import.meta.url);
    /** @type {Worker} */
    let worker;
    try {
      worker = createWorker(() => new Worker(url, { type: 'module', name: 'webnn-compile' }), url.href);
    } catch (error) {
      throw new CompileError('start', `the compiler does not start: ${/** @type {Error} */ (error).message}`);
    }
    this.#worker = worker;
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.#worker) this.#die(event.message ?? 'its script cannot be loaded');
    };
    worker.onmessage = ({ data: { id, progress, died, ...answer } }) => {
      if (worker !== this.#worker || id !== this.#current?.id) return;
      if (progress) this.#current?.onProgress?.(progress);
      else if (died !== undefined) this.#die(died);
      else {
        this.#settle()?.resolve(answer);
        if (answer.ended) this.#end();
      }
    };
    try {
      await this.#post({ op: 'start', onProgress, signal });
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      throw new CompileError('start', `the compiler does not start: ${error.message}`);
    }
    this.#ready = true;
  }

  /**
   * @param {Call} call
   * @returns {Promise<Answer>}
   */
  async #post({ op, request = {}, files = [], line, onProgress, signal, maxSeconds }) {
    const worker = this.#worker;
    signal?.throwIfAborted();
    if (this.#closed || !worker) throw closed();
    const id = ++this.#last;
    let at = 'start';
    const onPhase = (/** @type {Progress} */ progress) => {
      at = progress.phase;
      onProgress?.(progress);
    };
    /** @type {Promise<Answer>} */
    const answer = new Promise((resolve, reject) => {
      this.#current = { id, resolve, reject, onProgress: onPhase };
      worker.postMessage({ id, op, request, files, line }, line ? [line.port] : []);
    });
    const abort = () => {
      if (id === this.#current?.id) this.#end(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
    const late = () => {
      if (id === this.#current?.id) this.#end(tooLong(/** @type {number} */ (maxSeconds), at));
    };
    const timer = maxSeconds === undefined ? undefined : setTimeout(late, 1000 * maxSeconds);
    return answer.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  }

  #settle() {
    const current = this.#current;
    this.#current = undefined;
    return current;
  }

  /** @param {any} [reason] that of the call under way */
  #end(reason) {
    this.#worker?.terminate();
    this.#worker = this.#started = undefined;
    this.#ready = false;
    this.#settle()?.reject(reason);
  }

  /** @param {string} reason */
  #die(reason) {
    const again = this.#ready;
    this.#end(new CompileError('crash', again ? `the compiler's worker died: ${reason}; it is started again` : reason));
    if (!again) return;
    this.#onRestart?.(reason);
    this.start(undefined).catch(() => {}); // the next call meets the same error
  }
}
