// The service worker of the compile page. It keeps the page's files, so that later visits need no network, and adds the
// headers that make the page cross-origin isolated: a search waits for measurements on shared memory.

const CACHE = 'webnn-compile-page';
/** Names of which the content never changes. */
const UNCHANGING = /\/pyodide-[\d.]+\/|-[0-9a-f]{12}\.zip$/;
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const worker = /** @type {any} */ (globalThis);

worker.addEventListener('install', () => worker.skipWaiting());
worker.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));
worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { method, url } = event.request;
  if (method === 'GET' && url.startsWith(worker.registration.scope)) event.respondWith(respond(event.request));
});

/** @param {Request} request */
async function respond(request) {
  const response = await find(request);
  if (response.type === 'opaqueredirect' || response.type === 'error') return response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  const { status, statusText } = response;
  return new Response(response.body, { status, statusText, headers });
}

/** @param {Request} request */
async function find(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept && UNCHANGING.test(new URL(request.url).pathname)) return kept;
  try {
    const response = await fetch(request);
    if (response.ok) {
      if (request.url.endsWith('/files.json')) await discard(cache, response.clone());
      await cache.put(request.url, response.clone()).catch(() => {}); // a full disk costs the next visit time, no more
    }
    return response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/**
 * Of earlier builds of the page.
 * @param {Cache} cache
 * @param {Response} list
 */
async function discard(cache, list) {
  const { files } = await list.json();
  const known = new Set(
    files.map((/** @type {{ name: string }} */ { name }) => new URL(name, worker.registration.scope).href),
  );
  const kept = await cache.keys();
  const old = kept.filter(({ url }) => UNCHANGING.test(new URL(url).pathname) && !known.has(url));
  await Promise.all(old.map((request) => cache.delete(request)));
}
