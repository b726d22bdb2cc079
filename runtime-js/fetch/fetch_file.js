// Downloads one file of the bundle straight into memory and checks that it is what the compiler wrote.
import { DownloadError, IntegrityError, ModelError } from '../errors.js';
import { isElsewhere } from './is_elsewhere.js';
import { watchDownloads } from './watch_downloads.js';

/** @typedef {{ url: string, bytes: number, sha256: string }} FileSpec */

/** Settings that bundlers need, which docs/deploying.md lists. */
export const BUNDLERS = 'where a bundler made the page, esbuild and rollup must leave model.js external';

/** How often a file is continued that breaks off after the answer to its request. */
const CONTINUATIONS = 3;

const PARTIAL_CONTENT = 206;

/** True where files can be hashed: browsers have crypto.subtle on https and localhost only. */
export const canHash = () => globalThis.crypto?.subtle !== undefined;

/**
 * Fills `target` (exactly `spec.bytes` long) with the file.
 * @param {FileSpec} spec
 * @param {Uint8Array} target
 * @param {(bytes: number) => void} onBytes called with the size of each piece as it arrives
 * @param {import('./watch_downloads.js').Downloads} [downloads] those of the same load
 * @throws {DownloadError | IntegrityError}
 */
export async function fetchFile(spec, target, onBytes, downloads = watchDownloads()) {
  try {
    if (await fillFromStore(spec, target, onBytes, downloads)) return;
    await fillFrom(spec, target, onBytes, downloads);
    // Nothing waits for it: where the page ends before, this file alone is fetched again.
    downloads.store?.keep(spec.sha256, unshared(target));
  } catch (error) {
    // Silence is no fault of this file.
    if (error instanceof ModelError && error.code !== 'stalled') error.file = spec.url;
    throw error;
  }
}

/**
 * True where the file was kept; a damaged one is dropped.
 * @type {(...parameters: Required<Parameters<typeof fetchFile>>) => Promise<boolean>}
 */
async function fillFromStore({ url, bytes, sha256 }, target, onBytes, { store }) {
  const answer = await store?.find(sha256);
  if (!store || !answer) return false;
  const { size } = await readInto(answer, target, 0, () => {}, url);
  if (size !== bytes || !(await isIntact(target, sha256))) {
    await store.drop(sha256);
    return false;
  }
  onBytes(bytes);
  store.kept.bytes += bytes;
  return true;
}

/**
 * @param {Uint8Array} bytes
 * @param {string} sha256
 */
const isIntact = async (bytes, sha256) =>
  !canHash() || hex(await crypto.subtle.digest('SHA-256', unshared(bytes))) === sha256;

/** @type {(...parameters: Required<Parameters<typeof fetchFile>>) => Promise<void>} */
async function fillFrom({ url, bytes, sha256 }, target, onBytes, downloads) {
  const name = nameOf(url);
  const { size, head, type } = await downloads.receive(url, async (signal, onActivity) => {
    let at = 0;
    for (let left = CONTINUATIONS; ; left--) {
      const response = await request(url, signal, at).catch((error) => {
        const hint = isElsewhere(url) ? ' (a server of another origin must send Access-Control-Allow-Origin)' : '';
        throw new DownloadError('network', `could not fetch ${name}: ${error.message}${hint}`);
      });
      onActivity();
      if (!response.ok)
        throw new DownloadError(
          'http',
          `the server answered ${response.status} for ${name}: is the whole bundle there? (${BUNDLERS})`,
        );
      if (response.status !== PARTIAL_CONTENT) {
        onBytes(-at); // of a server without ranges all comes again
        at = 0;
      }
      const onPiece = (/** @type {number} */ size) => {
        onActivity();
        at += size;
        onBytes(size);
      };
      try {
        const type = response.headers.get('content-type');
        return { ...(await readInto(response, target, at, onPiece, name)), type };
      } catch (error) {
        if (!left || signal.aborted) throw error;
      }
    }
  });
  if (isHtml(head, type)) {
    throw new DownloadError(
      'html',
      `the server sent HTML for ${name}: is the file there, and is it served as it is? (${BUNDLERS})`,
    );
  }
  if (size !== bytes) {
    const much = size > bytes ? 'more' : size;
    throw new IntegrityError(
      'length',
      `${name} is not the file that was compiled: expected ${bytes} bytes, got ${much} (${BUNDLERS})`,
    );
  }
  if (!(await isIntact(target, sha256))) {
    throw new IntegrityError('altered', `${name} is not the file that was compiled: its sha256 is not ${sha256}`);
  }
}

/**
 * The URL for a message; that of a file inside a script is as long as the file.
 * @param {string} url
 */
export const nameOf = (url) => (url.startsWith('data:') ? `${url.slice(0, 50)}...` : url);

/**
 * Bundlers put small files into scripts as data: URLs, which a page's connect-src may forbid to fetch. Node.js fetches no
 * file: URL, so there, as in Deno and Bun, the file is read.
 * @param {string} url
 * @param {AbortSignal} signal
 * @param {number} from the first byte that is missing
 * @returns {Promise<Response>}
 */
async function request(url, signal, from) {
  const [, type = '', encoded, text = ''] = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(url) ?? [];
  if (encoded) {
    const quick = /** @type {any} */ (Uint8Array).fromBase64; // browsers of 2025
    const bytes = quick?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(bytes, { headers: { 'content-type': type } });
  }
  const { process } = /** @type {any} */ (globalThis);
  const files = url.startsWith('file:') && process?.getBuiltinModule?.('node:fs/promises');
  if (files) return new Response(await files.readFile(new URL(url), { signal }));
  return fetch(url, { signal, ...(from && { headers: { range: `bytes=${from}-` } }) });
}

/**
 * A file of JSON.
 * @param {FileSpec} spec
 * @param {import('./watch_downloads.js').Downloads} downloads
 */
export async function fetchJson(spec, downloads) {
  const bytes = new Uint8Array(spec.bytes);
  await fetchFile(spec, bytes, () => {}, downloads);
  return JSON.parse(new TextDecoder().decode(bytes));
}

// <signature>
/**
 * A text whose hash nothing says, from the server and not from a cache.
 * @param {string} url
 * @param {import('./watch_downloads.js').Downloads} downloads
 */
export const fetchText = (url, downloads) =>
  downloads.receive(url, async (signal) => {
    const fetching = url.startsWith('http') ? fetch(url, { signal, cache: 'no-cache' }) : request(url, signal, 0);
    const response = await fetching.catch((error) => {
      throw new DownloadError('network', `could not fetch ${nameOf(url)}: ${error.message}`);
    });
    const { ok, status } = response;
    return { text: await response.text(), ok, status, type: response.headers.get('content-type') };
  });

/** Whether bytes have a hash. */
export const hasHash = isIntact;
// </signature>

/**
 * Stops reading once there is more than fits.
 * @param {Response} response
 * @param {Uint8Array} target
 * @param {number} from where in the target it goes
 * @param {(bytes: number) => void} onBytes
 * @param {string} name
 */
async function readInto(response, target, from, onBytes, name) {
  const reader = response.body?.getReader();
  const head = new Uint8Array(64);
  head.set(target.subarray(0, Math.min(from, head.length)));
  let at = from;
  while (reader && at <= target.length) {
    const { done, value } = await reader.read().catch((error) => {
      throw new DownloadError('network', `the download of ${name} broke off after ${at} bytes: ${error.message}`);
    });
    if (done) break;
    if (at < head.length) head.set(value.subarray(0, head.length - at), at);
    target.set(value.subarray(0, target.length - at), at);
    at += value.length;
    onBytes(value.length);
  }
  if (at > target.length) await reader?.cancel();
  return { size: at, head };
}

/**
 * A server that answers every unknown path with its start page says 200 OK.
 * @param {Uint8Array} head
 * @param {string | null} type
 */
function isHtml(head, type) {
  const text = new TextDecoder().decode(head).trimStart().toLowerCase();
  return /^<(!doctype html|html)/.test(text) || (text.startsWith('<') && !!type?.includes('text/html'));
}

/**
 * Shared memory is not hashed: a copy is.
 * @param {Uint8Array} bytes
 */
const unshared = (bytes) =>
  bytes.buffer instanceof ArrayBuffer ? /** @type {Uint8Array<ArrayBuffer>} */ (bytes) : bytes.slice();

/** @param {ArrayBuffer} buffer */
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
