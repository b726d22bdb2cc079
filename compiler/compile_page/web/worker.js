// The compiler's worker: Python in WebAssembly. Requests come by message, one at a time.

import { fetchKept, keepList, readList } from './kept_files.js';
import { liftLimit, limitHeap, refusedHeap } from './limit_heap.js';
import { createCaller } from './page_calls.js';

/** @typedef {[string, Blob | Uint8Array][]} Files */
/** @typedef {{ id: number, op: string, request: any, files: Files, line?: import('./page_calls.js').Line }} Call */
/** @typedef {import('./compile_worker.js').Answer} Answer */

const FOLDER = new URL('./', import.meta.url).href;
/** Prefix of the interpreter's files in the list. */
const PYODIDE = 'pyodide-';
const FILES = '/model';
const RECORDS = '/records.jsonl';
const LABELS = '/labels';
/** Formats whose modules are archives of their own, by the first 8 bytes of a file and the end of its name. */
const FORMATS = [
  { archive: 'tflite', what: 'TFLite models', begins: /^.{4}TFL3/s, ends: /\.tflite$/i },
  {
    archive: 'formats',
    what: 'formats other than ONNX and TFLite',
    begins: /^(\x89HDF|PK|\s*\{|name:|layer|input)/,
    ends: /\.(keras|h5|hdf5|json|prototxt|caffemodel|params|mlmodel|pb)$/i,
  },
];

/** @type {any} the interpreter */
let python;
/** @type {any} Python's function of that name */
let answer;
/** The bytes of the interpreter's memory when it has started. */
let started = 0;
/** @type {import('./kept_files.js').Listed[]} */
let listed = [];
/** @type {Map<string, Promise<void>>} modules that few calls need, by their archives */
const later = new Map();

self.onmessage = async ({ data }) => {
  const { id } = data;
  limitHeap(Infinity);
  try {
    const { files, ...rest } = data.op === 'start' ? await start(id) : await carryOut(data);
    self.postMessage({ id, files, ...rest }, { transfer: files.map(([, bytes]) => bytes.buffer) });
  } catch (error) {
    // Errors of Python's are answers. What comes here has left the interpreter in an unknown state.
    const died = String(/** @type {any} */ (error)?.message ?? error);
    self.postMessage(refusedHeap() ? { id, ...tooLarge(data.request.compileMemory) } : { id, died });
    self.close();
  }
};

/**
 * The answer where the interpreter does not survive an allocation that the limit of memory refuses.
 * @param {number} compileMemory
 * @returns {Answer}
 */
function tooLarge(compileMemory) {
  const message = `--compile-memory ${compileMemory} bytes: compiling took more; allow more, or give the model smaller or fixed sizes`;
  return { result: { error: { kind: 'input', message } }, files: [], ended: true };
}

/**
 * @param {number} id
 * @returns {Promise<Answer>}
 */
async function start(id) {
  listed = await readList();
  const needed = [find('compiler'), ...listed.filter(({ name }) => name.startsWith(PYODIDE))];
  const total = needed.reduce((sum, { bytes }) => sum + bytes, 0);
  let loaded = 0;
  const onBytes = (/** @type {number} */ bytes) => {
    loaded += bytes;
    self.postMessage({ id, progress: { phase: 'download', loaded, total } });
  };
  const contents = await Promise.all(needed.map((file) => fetchKept(file, onBytes)));
  self.postMessage({ id, progress: { phase: 'start' } });
  const [archive] = contents;
  const loader = new URL(find('/pyodide.js').name, FOLDER);
  python = await withFiles(
    new Map(needed.map(({ name }, i) => [new URL(name, FOLDER).href, contents[i]])),
    async () => {
      const { loadPyodide } = await import(loader.href);
      return loadPyodide({ indexURL: new URL('./', loader).href });
    },
  );
  unpack(/** @type {Uint8Array} */ (archive));
  python.FS.mkdirTree(FILES);
  answer = python.runPython('from webnn_compile.compile_page.answer import answer; answer');
  await keepList(listed);
  started = heap();
  return { result: { heapBytes: started }, files: [] };
}

/**
 * Meanwhile `fetch` returns these files, which were checked: Pyodide waits for ever for one that does not arrive whole.
 * @template T
 * @param {Map<string, Uint8Array<ArrayBuffer> | undefined>} files by address
 * @param {() => Promise<T>} work
 */
async function withFiles(files, work) {
  const own = self.fetch;
  self.fetch = (input, init) => {
    const bytes = files.get(input instanceof Request ? input.url : String(input));
    if (!bytes) return own(input, init);
    return Promise.resolve(new Response(bytes, { headers: { 'Content-Type': 'application/wasm' } }));
  };
  try {
    return await work();
  } finally {
    self.fetch = own;
  }
}

/** @param {string} end */
function find(end) {
  const entry = listed.find(({ name }) => name.endsWith(end) || (name.startsWith(`${end}-`) && name.endsWith('.zip')));
  if (!entry) throw new Error(`files.json names no ${end}: is the whole folder there?`);
  return entry;
}

/** @param {Uint8Array} archive */
function unpack(archive) {
  python.unpackArchive(archive, 'zip', { extractDir: python.runPython('import site; site.getsitepackages()[0]') });
}

/**
 * @param {Call} call
 * @returns {Promise<Answer>}
 */
async function carryOut({ id, op, request, files, line }) {
  const { FS } = python;
  try {
    if (line) await loadLater('tuner', 'a search');
    if (request.weights !== undefined) await loadLater('quantizer', 'weights in fewer bits');
    for (const { archive, what } of await formatsOf(files)) await loadLater(archive, what);
  } catch (error) {
    return { result: { error: { kind: 'start', message: /** @type {Error} */ (error).message } }, files: [] };
  }
  FS.chdir(FILES);
  try {
    const options = { ...request };
    try {
      for (const [name, content] of files) await writeFile(name, content);
      if (options.records !== undefined) {
        FS.writeFile(RECORDS, options.records);
        options.records = RECORDS;
      }
      if (options.labels instanceof File) options.labels = await keepLabels(options.labels);
    } catch (error) {
      return { result: { error: { kind: 'input', message: /** @type {Error} */ (error).message } }, files: [] };
    }
    return await runOperation(id, op, options, line);
  } finally {
    remove('.');
  }
}

/**
 * @param {string} archive
 * @param {string} what it is for, in messages
 */
async function loadLater(archive, what) {
  const loading = later.get(archive) ?? fetchKept(find(archive), () => {}).then(unpack);
  later.set(archive, loading);
  await loading.catch((error) => {
    later.delete(archive);
    throw new Error(`the modules of ${what} cannot be had: ${error.message}`);
  });
}

/**
 * The entries of FORMATS for these files. A file that cannot be read is reported where it is written.
 * @param {Files} files
 */
async function formatsOf(files) {
  const entries = await Promise.all(
    files.map(async ([name, content]) => {
      const head = await read(content.slice(0, 8)).catch(() => new Uint8Array());
      return { name, head: String.fromCharCode(...head) };
    }),
  );
  return FORMATS.filter(({ begins, ends }) => entries.some(({ name, head }) => begins.test(head) || ends.test(name)));
}

/**
 * @param {string} name
 * @param {Blob | Uint8Array} content
 */
async function writeFile(name, content) {
  const bytes = await read(content).catch((error) => {
    throw new Error(`${name} cannot be read: ${error.message}; where it has changed since, choose it again`);
  });
  const folder = name.split('/').slice(0, -1).join('/');
  try {
    if (folder) python.FS.mkdirTree(folder);
    python.FS.writeFile(name, bytes, { canOwn: true });
  } catch {
    throw new Error(`${JSON.stringify(name)} cannot be the name of a file here, beside the others`);
  }
}

/** @param {File} file */
async function keepLabels(file) {
  python.FS.mkdirTree(LABELS);
  remove(LABELS);
  const path = `${LABELS}/${file.name}`;
  await writeFile(path, file);
  return path;
}

/** @param {Blob | Uint8Array} content */
const read = async (content) => (content instanceof Uint8Array ? content : new Uint8Array(await content.arrayBuffer()));

/**
 * @param {number} id
 * @param {string} op
 * @param {any} request
 * @param {import('./page_calls.js').Line | undefined} line
 * @returns {Promise<Answer>}
 */
async function runOperation(id, op, request, line) {
  const say = (/** @type {string} */ phase) => self.postMessage({ id, progress: { phase } });
  const proxy = answer(op, JSON.stringify(request), say, line ? createPage(line) : undefined, HEAP);
  liftLimit();
  const [text, proxies] = proxy;
  const files = [];
  for (const [name, data] of proxies) {
    const buffer = data.getBuffer('u8');
    files.push(/** @type {[string, Uint8Array<ArrayBuffer>]} */ ([name, buffer.data.slice()]));
    buffer.release();
    data.destroy?.();
  }
  proxies.destroy();
  proxy.destroy();
  const { ended, ...result } = JSON.parse(text);
  return { result: { ...result, heapBytes: heap() }, files, ended };
}

/** The interpreter's memory as Python sees it, in bytes beyond those of the start. */
const HEAP = {
  grown: () => heap() - started,
  /** @param {number} growth */
  limit: (growth) => limitHeap(started + growth),
  refused() {
    liftLimit();
    return Math.max(refusedHeap() - started, 0);
  },
};

/**
 * The page as Python calls it.
 * @param {import('./page_calls.js').Line} line
 */
function createPage(line) {
  const caller = createCaller(line);
  return {
    stopped: caller.stopped,
    /**
     * @param {string} header
     * @param {any} payload Python's bytes
     * @param {number} seconds
     */
    exchange(header, payload, seconds) {
      const buffer = payload.getBuffer('u8');
      const bytes = buffer.data.slice();
      buffer.release();
      const reply = caller.exchange(header, bytes, seconds);
      return reply && python.toPy([reply.header, reply.payload]);
    },
  };
}

/** The bytes of the interpreter's memory, which only grows. */
function heap() {
  return python._module.HEAPU8.length;
}

/**
 * All that is in a folder.
 * @param {string} folder
 */
function remove(folder) {
  const { FS } = python;
  for (const name of FS.readdir(folder)) {
    if (name === '.' || name === '..') continue;
    const path = `${folder}/${name}`;
    if (FS.isDir(FS.stat(path).mode)) {
      remove(path);
      FS.rmdir(path);
    } else FS.unlink(path);
  }
}
