// webnn-compile in a page: a model's file in, a running model or the files of a bundle out. Nothing leaves the page.

import { checkOptions } from './check_options.js';
import { CompileError } from './compile_error.js';
import { CompileWorker } from './compile_worker.js';
import { CompiledModel } from './compiled_model.js';
import { readSource } from './read_source.js';

export { CompileError };

/** The options of every call, and of what compiles. */
const COMMON = ['signal'];
const BUILD = [
  ...['shapes', 'dims', 'states', 'given', 'stateWindow', 'generate', 'pictures', 'sounds', 'answers', 'labels'],
  ...['precision', 'weights', 'fastMath', 'records'],
];

/** @typedef {import('./types.js').Compiler} Compiler */
/** @typedef {import('./types.js').CompileOptions} CompileOptions */
/** @typedef {import('./types.js').Source} Source */

/**
 * @param {import('./types.js').OpenOptions} [options]
 * @returns {Promise<Compiler>}
 */
export async function openCompiler({ onProgress, onRestart, signal } = {}) {
  const worker = new CompileWorker(onRestart);
  await worker.start(onProgress, signal);
  return create(worker);
}

/** @type {Compiler | undefined} */
let shared;

/**
 * @param {Source} source
 * @param {CompileOptions} [options]
 */
export function compileModel(source, options) {
  shared ??= create(new CompileWorker());
  return shared.compile(source, options);
}

/**
 * @param {CompileWorker} worker
 * @returns {Compiler}
 */
function create(worker) {
  /**
   * @param {string} name
   * @param {Map<string, Uint8Array<ArrayBuffer>>} files
   */
  const pack = async (name, files) => {
    const answer = check(await worker.call({ op: 'pack', request: { name }, files: [...files] }));
    const [archive] = answer.files;
    return new Blob(archive ? [archive[1]] : [], { type: 'application/zip' });
  };

  return {
    async formats(options) {
      const { signal } = checkOptions(options, COMMON);
      const { heapBytes, ...formats } = check(await worker.call({ op: 'formats', signal })).result;
      return formats;
    },
    async describe(source, options) {
      const { signal } = checkOptions(options, COMMON);
      const { model, files } = readSource(source);
      const { heapBytes, ...card } = check(
        await worker.call({ op: 'describe', request: { model }, files, signal }),
      ).result;
      return card;
    },
    async compile(source, unchecked) {
      const { signal, onProgress, maxSeconds, ...options } = checkOptions(unchecked, [
        ...COMMON,
        ...BUILD,
        ...['targets', 'onProgress', 'maxSeconds', 'compileMemory'],
      ]);
      const { model, files } = readSource(source);
      const request = { ...options, model };
      const { result, files: written } = check(
        await worker.call({ op: 'compile', request, files, signal, onProgress, maxSeconds }),
      );
      return new CompiledModel(
        { ...result, report: { ...result.report, heapBytes: result.heapBytes } },
        new Map(written),
        pack,
      );
    },
    async tune(source, unchecked) {
      const names = [...COMMON, ...BUILD, 'target', 'seconds', 'trials', 'onStatus'];
      const { signal, onStatus = () => {}, ...options } = checkOptions(unchecked, names);
      if (!options.target) throw new CompileError('input', "tune needs the option target: 'webgpu' or 'webgl'");
      const { model, files } = readSource(source);
      if (!crossOriginIsolated) {
        const headers = 'Cross-Origin-Opener-Policy: same-origin, Cross-Origin-Embedder-Policy: require-corp';
        throw new CompileError('input', `a search needs a cross-origin isolated page: serve it with ${headers}`);
      }
      signal?.throwIfAborted();
      const { measure, stop } = await import('./measure.js');
      const { line, facts, end } = await measure(onStatus);
      const cancel = new AbortController();
      const abort = () => (signal?.reason === 'stop' ? stop(line.memory) : cancel.abort(signal?.reason));
      signal?.addEventListener('abort', abort, { once: true });
      if (signal?.aborted) abort();
      try {
        const request = { ...options, targets: [options.target], model, facts };
        const answer = check(await worker.call({ op: 'tune', request, files, line, signal: cancel.signal }));
        const { heapBytes, ...tuned } = answer.result;
        return tuned;
      } finally {
        signal?.removeEventListener('abort', abort);
        end();
      }
    },
    close() {
      worker.close();
    },
  };
}

/** @param {import('./compile_worker.js').Answer} answer */
function check(answer) {
  const { error } = answer.result;
  if (error) throw new CompileError(error.kind, error.message);
  return answer;
}
