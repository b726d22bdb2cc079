// The signature of the bundle's list of files, checked before anything of the model is used.

import { DownloadError, IntegrityError, UnsupportedError } from '../errors.js';
import { BUNDLERS, canHash, fetchText, hasHash, nameOf } from '../fetch/fetch_file.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { kindOf } from '../values/check_names.js';

const ALGORITHM = 'Ed25519';
const KEY_BYTES = 32;

/** First field of what is signed, `PURPOSE` of the compiler: the key's other signatures are none of a bundle. */
const PURPOSE = 'webnn-compile bundle';

const REWRITTEN = " (bundlers' development servers rewrite scripts: give publicKey in production alone)";

/** @typedef {{ name: string, bytes: number, sha256: string }} Listed */
/** @typedef {{ signature?: { url: string } | undefined }} Signed */

/**
 * Returns once the list is known to be signed by this key, and to have each file that the manifest names and each script that
 * lies beside this one for one of the backends.
 * @param {Signed & object} manifest
 * @param {unknown} publicKey 32 bytes in base64
 * @param {readonly string[]} backends
 * @param {Parameters<typeof watchDownloads>[0]} plan
 * @throws {TypeError | UnsupportedError | IntegrityError | import('../errors.js').DownloadError}
 */
async function check(manifest, publicKey, backends, plan) {
  const key = await keyOf(publicKey);
  const { signature } = manifest;
  if (!signature) throw new IntegrityError('altered', 'this bundle is not signed: compile it with --sign');
  const downloads = watchDownloads(plan);
  try {
    const { text } = await fetchText(signature.url, downloads);
    const at = text.indexOf('\n');
    const listed = new TextEncoder().encode(text.slice(at + 1));
    if (!(await crypto.subtle.verify(ALGORITHM, key, fromBase64(text.slice(0, Math.max(at, 0))), listed)))
      throw new IntegrityError(
        'altered',
        `${nameOf(signature.url)} is not signed by the publicKey of load, or was changed since: compile again with --sign, ` +
          'and give load the key that it prints',
      );
    const { for: purpose, files } = /** @type {{ for: string, files: Listed[] }} */ (listOf(text.slice(at + 1)));
    if (purpose !== PURPOSE)
      throw new IntegrityError('altered', `${nameOf(signature.url)} is signed, but is no list of a bundle's files`);
    const sizes = new Map(files.map(({ sha256, bytes }) => [sha256, bytes]));
    for (const { url, bytes, sha256 } of filesOf(manifest)) if (sizes.get(sha256) !== bytes) throw altered(url);
    if (isOfMachine(import.meta.url)) return;
    const own = files.filter(({ name }) => isOf(name, backends));
    const here = nameIn(import.meta.url);
    const bundled = !files.some(({ name }) => name === here);
    await Promise.all(own.map((script) => checkScript(script, bundled, downloads)));
  } finally {
    downloads.end();
  }
}

/**
 * The object of a text of JSON; without fields where it is none.
 * @param {string} text
 * @returns {object}
 */
function listOf(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** @param {unknown} publicKey */
async function keyOf(publicKey) {
  const bytes = typeof publicKey === 'string' ? fromBase64(publicKey) : undefined;
  if (bytes?.length !== KEY_BYTES) {
    const got = typeof publicKey === 'string' ? JSON.stringify(publicKey) : kindOf(publicKey);
    throw new TypeError(
      `publicKey: expected the ${KEY_BYTES} bytes of a key in base64, as webnn-compile --sign prints it, got ${got}`,
    );
  }
  if (!canHash())
    throw new UnsupportedError(
      'signature',
      'the signature cannot be checked: crypto.subtle is missing (the page is not served over https or localhost)',
    );
  return crypto.subtle.importKey('raw', bytes, ALGORITHM, false, ['verify']).catch((error) => {
    throw new UnsupportedError(
      'signature',
      `the signature cannot be checked: this browser has no ${ALGORITHM} (${error.message}); Chrome 137, Firefox 129, ` +
        'Safari 17 and later have it',
    );
  });
}

/**
 * No bytes where the text is no base64, which is then no key and no signature.
 * @param {string} text
 */
function fromBase64(text) {
  try {
    return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/**
 * @param {unknown} value part of a manifest
 * @returns {import('../fetch/fetch_file.js').FileSpec[]}
 */
function filesOf(value) {
  if (Object(value) !== value) return [];
  const { sha256 } = /** @type {any} */ (value);
  return sha256 ? [/** @type {any} */ (value)] : Object.values(/** @type {object} */ (value)).flatMap(filesOf);
}

/**
 * Whether a script is one that `load` imports later: model.js and what it imports itself run already.
 * @param {string} name
 * @param {readonly string[]} backends
 */
const isOf = (name, backends) =>
  /^(thread|start_threads|shared|verify_runs|check_launches|take_next|kept_files)-/.test(name) ||
  backends.some((b) => new RegExp(`^(backend|worker)_${b}-`).test(name));

/**
 * A bundler makes other scripts of these, under other names, which are the page's own then: what is at the address is no script.
 * Files that are read, as in Node.js, have no type.
 * @param {Listed} script
 * @param {boolean} bundled whether this script itself has another name than in the list
 * @param {import('../fetch/watch_downloads.js').Downloads} downloads
 * @throws {IntegrityError | DownloadError}
 */
async function checkScript({ name, sha256 }, bundled, downloads) {
  const url = beside(name, import.meta.url);
  const { text, ok, status, type } = await fetchText(url, downloads);
  const isScript = type?.includes('javascript') ?? url.startsWith('file:');
  if (ok && isScript) {
    if (!(await hasHash(new TextEncoder().encode(text), sha256))) throw altered(url, REWRITTEN);
  } else if (!bundled) throw noScript(url, ok ? `sent ${type ?? 'no type'}` : `answered ${status}`);
}

/**
 * Whether a bundler has put the address of a file of its own machine in place of import.meta.url, as webpack and parcel do: its
 * scripts lie at no address that is known here.
 * @param {string} url
 */
const isOfMachine = (url) => url.startsWith('file:') && !!globalThis.location?.protocol.startsWith('http');

/**
 * @param {string} url
 * @param {string} got
 */
const noScript = (url, got) =>
  Object.assign(
    new DownloadError('http', `the server ${got} for the script ${url}: is the whole bundle there? (${BUNDLERS})`),
    { file: url },
  );

/** @param {string} url */
const nameIn = (url) => new URL(url).pathname.split('/').at(-1);

/**
 * Apart from its use: bundlers look for a URL of import.meta.url.
 * @param {string} name
 * @param {string} base
 */
const beside = (name, base) => new URL(name, base).href;

/** @param {string} url @param {string} [hint] */
const altered = (url, hint = '') =>
  Object.assign(new IntegrityError('altered', `${nameOf(url)} is not a file that was signed with this bundle${hint}`), {
    file: url,
  });

export const signature = { check };
