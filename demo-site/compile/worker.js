// The compiler's worker: Python in WebAssembly. Requests come by message, one at a time.

import { createCaller } from './page_calls.js';

/** @typedef {[string, Blob | Uint8Array][]} Files */
/** @typedef {{ id: number, op: string, request: any, files: Files, line?: import('./page_calls.js').Line }} Call */
/** @typedef {{ found: any, files: [string, Uint8Array<ArrayBuffer>][] }} Answer */

const FOLDER = '/model';
const RECORDS = '/records.jsonl';

/** @type {any} the interpreter */
let python;
/** @type {any} Python's function of that name */
let answer;
/** @type {{ name: string, bytes: number }[]} */
let listed = [];
/** @type {Promise<void> | undefined} modules for searches */
let tuner;

self.onmessage = async ({ data }) => {
  const { id } = data;
  try {
    const { found, files } = data.op === 'start' ? await start(id) : await carryOut(data);
    self.postMessage({ id, found, files }, { transfer: files.map(([, bytes]) => bytes.buffer) });
  } catch (error) {
    // Errors of Python's are answers. What comes here has left the interpreter in a state that nobody knows.
    self.postMessage({ id, died: String(/** @type {any} */ (error)?.message ?? error) });
    self.close();
  }
};

/**
 * @param {number} id
 * @returns {Promise<Answer>}
 */
async function start(id) {
  const response = await fetch(new URL('files.json', import.meta.url), { cache: 'no-cache' });
  if (!response.ok) throw new Error(`the server answered ${response.status} for ${response.url}`);
  listed = (await response.json()).files;
  const archive = download('compiler', (loaded, total) =>
    self.postMessage({ id, progress: { phase: 'download', loaded, total } }),
  );
  const folder = new URL(`./${find('/pyodide.js').name}`, import.meta.url);
  const { loadPyodide } = await import(folder.href);
  python = await loadPyodide({ indexURL: new URL('./', folder).href });
  const bytes = await archive;
  self.postMessage({ id, progress: { phase: 'start' } });
  unpack(bytes);
  python.FS.mkdirTree(FOLDER);
  answer = python.runPython('from webnn_compile.page.answer import answer; answer');
  return { found: { heapBytes: heap() }, files: [] };
}

/** @param {string} end */
function find(end) {
  const found = listed.find(({ name }) => name.endsWith(end) || (name.startsWith(`${end}-`) && name.endsWith('.zip')));
  if (!found) throw new Error(`files.json names no ${end}: is the whole folder there?`);
  return found;
}

/**
 * @param {string} stem
 * @param {(loaded: number, total: number) => void} onProgress
 */
async function download(stem, onProgress) {
  const { name, bytes } = find(stem);
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status} for ${response.url}`);
  const target = new Uint8Array(bytes);
  const reader = response.body.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > bytes)
      throw new Error(`${name} has more than ${bytes} bytes: it is not the file that was built`);
    target.set(value, at);
    at += value.length;
    onProgress(at, bytes);
  }
  if (at < bytes) throw new Error(`${name} has ${at} bytes in place of ${bytes}: it is not the file that was built`);
  return target;
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
  if (line) tuner ??= download('tuner', () => {}).then(unpack);
  await tuner;
  FS.chdir(FOLDER);
  try {
    for (const [name, content] of files) {
      const parts = name.split('/');
      if (parts.length > 1) FS.mkdirTree(parts.slice(0, -1).join('/'));
      const bytes = content instanceof Uint8Array ? content : new Uint8Array(await content.arrayBuffer());
      FS.writeFile(name, bytes, { canOwn: true });
    }
    const given = { ...request };
    if (given.records !== undefined) {
      FS.writeFile(RECORDS, given.records);
      given.records = RECORDS;
    }
    return await ask(id, op, given, line);
  } finally {
    remove('.');
  }
}

/**
 * @param {number} id
 * @param {string} op
 * @param {any} request
 * @param {import('./page_calls.js').Line | undefined} line
 * @returns {Promise<Answer>}
 */
async function ask(id, op, request, line) {
  const say = (/** @type {string} */ phase) => self.postMessage({ id, progress: { phase } });
  const proxy = answer(op, JSON.stringify(request), say, line ? createPage(line) : undefined);
  const [text, made] = proxy;
  const files = [];
  for (const [name, data] of made) {
    const buffer = data.getBuffer('u8');
    files.push(/** @type {[string, Uint8Array<ArrayBuffer>]} */ ([name, buffer.data.slice()]));
    buffer.release();
    data.destroy?.();
  }
  made.destroy();
  proxy.destroy();
  return { found: { ...JSON.parse(text), heapBytes: heap() }, files };
}

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
    ask(header, payload, seconds) {
      const buffer = payload.getBuffer('u8');
      const bytes = buffer.data.slice();
      buffer.release();
      const found = caller.ask(header, bytes, seconds);
      return found && python.toPy([found.header, found.payload]);
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
