// The folder's large files: fetched with progress, checked against files.json, kept for visits without a network.

/** @typedef {{ name: string, bytes: number, sha256: string }} Listed */

const FOLDER = new URL('./', import.meta.url).href;
/** The service worker's. Where there is none, nothing is kept. */
const CACHE = `webnn-compile-page ${FOLDER}`;
const LIST = new URL('files.json', FOLDER).href;

const openCache = async () => {
  try {
    return (await caches.has(CACHE)) ? await caches.open(CACHE) : undefined;
  } catch {
    return undefined; // not a secure context, or storage that is refused
  }
};

/** The list of the folder's files. @returns {Promise<Listed[]>} */
export async function readList() {
  const response = await fetch(LIST, { cache: 'no-cache' });
  if (!response.ok) throw new Error(`the server answered ${response.status} for ${LIST}`);
  const text = await response.text();
  try {
    return JSON.parse(text).files;
  } catch {
    throw new Error(`${LIST} is no list of files: is the whole folder there, and is it served as it is?`);
  }
}

/**
 * The file, from what is kept or from the network.
 * @param {Listed} file
 * @param {(bytes: number) => void} onBytes called with the size of each piece as it arrives
 */
export async function fetchKept(file, onBytes) {
  const url = new URL(file.name, FOLDER).href;
  const cache = await openCache();
  const kept = await cache?.match(url);
  if (kept) {
    const bytes = new Uint8Array(await kept.arrayBuffer());
    if (await isRight(bytes, file)) {
      onBytes(bytes.length);
      return bytes;
    }
    await cache?.delete(url);
  }
  const bytes = await download(url, file, onBytes);
  if (!(await isRight(bytes, file))) throw wrong(url);
  const type = file.name.endsWith('.js') ? 'text/javascript' : 'application/octet-stream';
  const headers = { 'Content-Type': type, 'Content-Length': String(bytes.length) };
  await cache?.put(url, new Response(bytes, { headers })).catch(() => {}); // a full disk costs the next visit time, no more
  return bytes;
}

/**
 * Keeps the list for visits without a network, once all of its files are there, and deletes those of earlier builds.
 * @param {Listed[]} files
 */
export async function keepList(files) {
  const cache = await openCache();
  if (!cache) return;
  const listed = new Set(files.map(({ name }) => new URL(name, FOLDER).href));
  const headers = { 'Content-Type': 'application/json' };
  await cache.put(LIST, new Response(JSON.stringify({ files }), { headers })).catch(() => {});
  for (const { url } of await cache.keys())
    if (/\.zip$|\/pyodide-[^/]+\//.test(url) && !listed.has(url)) await cache.delete(url);
}

/**
 * @param {string} url
 * @param {Listed} file
 * @param {(bytes: number) => void} onBytes
 */
async function download(url, { bytes }, onBytes) {
  const response = await fetch(url);
  if (!response.ok || !response.body) throw new Error(`the server answered ${response.status} for ${url}`);
  const target = new Uint8Array(bytes);
  const reader = response.body.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (at + value.length > bytes) throw wrong(url);
    target.set(value, at);
    at += value.length;
    onBytes(value.length);
  }
  if (at < bytes) throw wrong(url);
  return target;
}

/** @param {string} url */
const wrong = (url) =>
  new Error(`${url} is not the file that was built: is the whole folder there, and is it served as it is?`);

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {Listed} file
 */
async function isRight(bytes, file) {
  if (bytes.length !== file.bytes) return false;
  if (!globalThis.crypto?.subtle) return true; // not a secure context
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('') === file.sha256;
}
