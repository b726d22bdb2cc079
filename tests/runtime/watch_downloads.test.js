import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { fetchFile } from '../../runtime-js/fetch/fetch_file.js';
import { watchDownloads } from '../../runtime-js/fetch/watch_downloads.js';
import { createClock } from './clock.js';

const TIMEOUT = 8000;

/** A download that the test continues. */
function begin(downloads, url) {
  const file = {};
  file.done = downloads.receive(
    url,
    (signal, onActivity) =>
      new Promise((resolve, reject) => {
        Object.assign(file, { onActivity, finish: resolve });
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  );
  file.done.catch(() => {});
  return file;
}

test('a slow file is none that stalls', async () => {
  const clock = createClock();
  const file = begin(watchDownloads({ timeout: TIMEOUT }, clock), 'http://a/weights.bin');
  for (let i = 0; i < 100; i++) {
    clock.advance(TIMEOUT - 1);
    file.onActivity();
  }
  file.finish(5);
  assert.equal(await file.done, 5);
  assert.equal(clock.timers(), 0);
});

test('a file that waits behind others is none that stalls', async () => {
  const clock = createClock();
  const downloads = watchDownloads({ timeout: TIMEOUT }, clock);
  const [waits, arrives] = ['http://a/1', 'http://a/2'].map((url) => begin(downloads, url));
  for (let i = 0; i < 10; i++) {
    clock.advance(TIMEOUT - 1);
    arrives.onActivity();
  }
  arrives.finish();
  await arrives.done;
  clock.advance(TIMEOUT - 2000);
  waits.finish();
  await waits.done;
});

test('silence ends all files and names the one that was asked for first', async () => {
  const clock = createClock();
  const downloads = watchDownloads({ timeout: TIMEOUT }, clock);
  const [done, first, second] = ['http://a/0', 'http://a/1', 'http://a/2'].map((url) => begin(downloads, url));
  done.finish();
  await done.done;
  clock.advance(2 * TIMEOUT);
  for (const file of [first, second]) {
    await assert.rejects(file.done, {
      name: 'DownloadError',
      code: 'stalled',
      message: 'nothing arrived of http://a/1 and 1 more for 8 s: try again, or load with a longer { timeout }',
    });
  }
  assert.equal(clock.timers(), 0);
});

test('what is no download any more is not watched', async () => {
  const clock = createClock();
  const downloads = watchDownloads({ timeout: TIMEOUT }, clock);
  const file = begin(downloads, 'http://a/1');
  file.finish();
  await file.done;
  clock.advance(10 * TIMEOUT);
  const later = begin(downloads, 'http://a/2');
  clock.advance(TIMEOUT - 1);
  later.finish(7);
  assert.equal(await later.done, 7);
});

test('a signal ends the files, and is let go of', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const over = watchDownloads({ signal });
  assert.equal(getEventListeners(signal, 'abort').length, 1);
  over.end();
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  const file = begin(watchDownloads({ signal }), 'http://a/1');
  controller.abort();
  await assert.rejects(file.done, { name: 'AbortError' });
  await assert.rejects(
    fetchFile({ url: 'data:,x', bytes: 1, sha256: '' }, new Uint8Array(1), () => {}, watchDownloads({ signal })),
  );
});

test('every piece that fetchFile receives resets the watch', async (t) => {
  const clock = createClock();
  let push;
  const body = new ReadableStream({
    start(controller) {
      push = (size) => (size ? controller.enqueue(new Uint8Array(size)) : controller.close());
    },
  });
  t.mock.method(globalThis, 'fetch', async () => new Response(body));
  let arrived;
  const spec = { url: 'http://a/1', bytes: 30, sha256: '' };
  const onBytes = () => arrived();
  const file = fetchFile(spec, new Uint8Array(30), onBytes, watchDownloads({ timeout: TIMEOUT }, clock));
  for (let i = 0; i < 3; i++) {
    const next = new Promise((resolve) => {
      arrived = resolve;
    });
    push(10);
    await next;
    clock.advance(TIMEOUT - 1);
  }
  push(0);
  await assert.rejects(file, { code: 'altered' });
});

test('whatever arrives is reported to who loads', async () => {
  let onActivity = 0;
  const file = begin(watchDownloads({ onActivity: () => onActivity++ }), 'http://a/weights.bin');
  assert.equal(onActivity, 1);
  file.onActivity();
  assert.equal(onActivity, 2);
  file.finish();
  await file.done;
  assert.equal(onActivity, 3);
});
