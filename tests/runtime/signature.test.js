import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const loading = await readFile(new URL('../../runtime-js/load/load.js', import.meta.url), 'utf8');
const LATER = [
  // Types are imported from files, too, and have a member behind them.
  ...new Set(Array.from(loading.matchAll(/import\('[./a-z]+\/(\w+)\.js'\)(?!\.)/g), ([, name]) => `${name}-0b.js`)),
];
const SCRIPTS = ['thread-0a.js', 'shared-0a.js', 'backend_wasm-0c.js', 'worker_wasm-0c.js', ...LATER];

const folder = await mkdtemp(join(tmpdir(), 'signature-'));
after(() => rm(folder, { recursive: true }));
await cp(new URL('../../runtime-js', import.meta.url), folder, { recursive: true });
for (const name of SCRIPTS) await writeFile(join(folder, 'load', name), 'export {};');
const { signature } = await import(pathToFileURL(join(folder, 'load', 'signature.js')).href);

const { privateKey, publicKey } = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
const key = Buffer.from(await crypto.subtle.exportKey('raw', publicKey)).toString('base64');

/** Checks the scripts beside the runtime by a signed text. */
async function check(text) {
  const signed = Buffer.from(await crypto.subtle.sign('Ed25519', privateKey, Buffer.from(text))).toString('base64');
  const path = join(folder, 'signature.txt');
  await writeFile(path, `${signed}\n${text}`);
  await signature.check({ signature: { url: pathToFileURL(path).href } }, key, ['wasm'], { timeout: 0 });
}

const list = (own, purpose = 'webnn-compile bundle') => {
  const sha256 = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex');
  const files = SCRIPTS.map((name) => ({ name, bytes: 10, sha256: sha256(name === own ? 'another' : 'export {};') }));
  return JSON.stringify({ for: purpose, files });
};

test('scripts that are imported later are those that were signed, in files too', async () => {
  assert.ok(LATER.length > 1);
  await check(list());
  for (const name of SCRIPTS)
    await assert.rejects(check(list(name)), {
      name: 'IntegrityError',
      message: new RegExp(`${name} is not a file that`),
    });
});

test('what else the key has signed is no list', async () => {
  for (const text of [list(undefined, 'mail'), '{}', 'null', '[]', 'no JSON', ''])
    await assert.rejects(check(text), {
      name: 'IntegrityError',
      message: /is signed, but is no list of a bundle's files/,
    });
});
