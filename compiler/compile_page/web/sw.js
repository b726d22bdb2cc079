// The service worker of the compile page. It keeps the page's files, so that later visits need no network, and adds the
// headers that make the page cross-origin isolated: a search waits for measurements on shared memory.

const worker = /** @type {any} */ (globalThis);
/** The cache of this folder: others on the same origin have their own. */
const CACHE = `webnn-compile-page ${worker.registration.scope}`;
/** Files that the compiler's worker keeps once they were checked, and the list of them (kept_files.js). */
const CHECKED = /\/pyodide-[^/]+\/|\.zip$|\/files\.json$/;
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

worker.addEventListener('install', (/** @type {any} */ event) => {
  event.waitUntil(caches.open(CACHE).catch(() => {})); // for the compiler's worker, which looks for it
  worker.skipWaiting();
});
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

/**
 * The network's answer first, but for scripts of which the name has a version.
 * @param {Request} request
 */
async function find(request) {
  const key = request.url.replace(/[?#].*/, '');
  const checked = CHECKED.test(key);
  const cache = await caches.open(CACHE).catch(() => undefined);
  if (checked && !key.endsWith('.json')) return (await cache?.match(key)) ?? fetch(request);
  try {
    const response = await fetch(request);
    // A full disk costs the next visit time, no more.
    if (response.ok && !checked) cache?.put(key, response.clone()).catch(() => {});
    return response;
  } catch (error) {
    const kept = await cache?.match(key);
    if (kept) return kept;
    throw error;
  }
}
