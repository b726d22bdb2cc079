import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { DownloadError, IntegrityError } from '../../runtime-js/errors.js';
import { fetchFile } from '../../runtime-js/fetch/fetch_file.js';

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const url = (bytes, type = 'application/octet-stream') =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

/** Fetches `sent` where `expected` was compiled. */
async function fetchBytes(sent, expected = sent, type = undefined) {
  const expectedBytes = Buffer.from(expected);
  const target = new Uint8Array(expectedBytes.length);
  let progress = 0;
  const spec = { url: url(sent, type), bytes: expectedBytes.length, sha256: sha256(expectedBytes) };
  await fetchFile(spec, target, (bytes) => {
    progress += bytes;
  });
  return { target, progress };
}

test('the bytes arrive and are counted', async () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => i * 7);
  const { target, progress } = await fetchBytes(bytes);
  assert.deepEqual(target, bytes);
  assert.equal(progress, 1000);
});

test('data: URLs, as bundlers make them of small files, are not fetched: a policy may forbid it', async () => {
  const { fetch } = globalThis;
  globalThis.fetch = () => assert.fail('fetched');
  try {
    const bytes = Uint8Array.from({ length: 700 }, (_, i) => i * 3);
    assert.deepEqual((await fetchBytes(bytes, bytes, 'application/wasm')).target, bytes);
    assert.equal((await fetchBytes('{"a": "é,;"}', undefined, 'application/json;charset=utf-8')).progress, 13);
  } finally {
    globalThis.fetch = fetch;
  }
});

test('an empty file is a file', async () => {
  assert.equal((await fetchBytes([])).progress, 0);
});

test('weights that begin like a tag are no HTML', async () => {
  assert.equal((await fetchBytes('<1234567')).progress, 8);
});

for (const [name, sent, type] of [
  ['doctype', '<!doctype html><p>'],
  ['capitals, byte order mark and blank lines', '\ufeff\n\n  <!DOCTYPE HTML PUBLIC>'],
  ['no doctype', '<html lang="en">'],
  ['a comment, by its content type', '<!-- app --><!doctype html>', 'text/html; charset=utf-8'],
]) {
  test(`HTML is told by name: ${name}`, async () => {
    await assert.rejects(fetchBytes(sent, 'weights', type), (error) => {
      assert.ok(error instanceof DownloadError);
      assert.equal(error.code, 'html');
      assert.match(error.message, /^the server sent HTML for data:/);
      return true;
    });
  });
}

for (const [name, sent, code, message] of [
  ['shorter', 'weight', 'length', /expected 7 bytes, got 6 \(where a bundler/],
  ['longer', 'weights!', 'length', /expected 7 bytes, got more \(where a bundler/],
  ['other', 'Weights', 'altered', /its sha256 is not [0-9a-f]{64}$/],
]) {
  test(`${name} bytes are refused`, async () => {
    await assert.rejects(fetchBytes(sent, 'weights'), (error) => {
      assert.ok(error instanceof IntegrityError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  });
}

/**
 * Fetches 1,000 bytes from a server that breaks off after so many bytes of each answer, and may know ranges.
 * @param {number[]} breaks
 */
async function fetchBroken(breaks, ranges) {
  const bytes = Buffer.from(Uint8Array.from({ length: 1000 }, (_, i) => i * 7));
  const asked = [];
  const server = createServer((request, response) => {
    const range = request.headers.range;
    asked.push(range ?? 'all');
    const start = ranges && range ? Number(/^bytes=(\d+)-$/.exec(range)[1]) : 0;
    const rest = bytes.subarray(start);
    response.writeHead(start ? 206 : 200, { 'content-length': rest.length });
    const end = breaks.shift();
    if (end === undefined) response.end(rest);
    else if (end === 0) response.destroy();
    else response.write(rest.subarray(0, end), () => setTimeout(() => response.destroy(), 50));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const target = new Uint8Array(1000);
  const seen = [0];
  const spec = { url: `http://127.0.0.1:${server.address().port}/`, bytes: 1000, sha256: sha256(bytes) };
  try {
    await fetchFile(spec, target, (size) => seen.push(seen.at(-1) + size));
    assert.deepEqual(target, Uint8Array.from(bytes));
    return { asked, loaded: seen.at(-1), most: Math.max(...seen) };
  } catch (error) {
    return { asked, error };
  } finally {
    server.close();
  }
}

test('a file that breaks off goes on from where it ended', async () => {
  const { asked, loaded, most } = await fetchBroken([300, 200], true);
  assert.deepEqual(asked, ['all', 'bytes=300-', 'bytes=500-']);
  assert.deepEqual([loaded, most], [1000, 1000]);
});

test('a file of a server without ranges begins again', async () => {
  const { asked, loaded, most } = await fetchBroken([300], false);
  assert.deepEqual(asked, ['all', 'bytes=300-']);
  assert.deepEqual([loaded, most], [1000, 1000]);
});

test('a file that breaks off again and again fails', async () => {
  const { asked, error } = await fetchBroken([300, 100, 100, 100, 100], true);
  assert.equal(asked.length, 4);
  assert.equal(error.code, 'network');
  assert.match(error.message, /broke off after 600 bytes/);
});

test('a file of which nothing more arrives is not asked for again', async () => {
  const { asked, error } = await fetchBroken([300, 0], true);
  assert.equal(asked.length, 2);
  assert.equal(error.code, 'network');
});
