// Makes a page cross-origin isolated, so that it may have threads, on hosts where headers cannot be set: a service worker
// adds them. Put this file into the page's folder or above it, and first into the page's head:
//
//     <script src="./isolate.js"></script>
//
// On the first visit the page loads twice. Pages on https and on localhost only.
(() => {
  const policy = 'webnn-compile-isolate';
  const added = {
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };

  if (typeof document === 'undefined') serve(/** @type {any} */ (globalThis));
  else if (!crossOriginIsolated) begin().catch((error) => console.warn(`isolate.js: ${error.message}`));

  /** @param {any} worker the service worker's global scope */
  function serve(worker) {
    worker.addEventListener('install', () => worker.skipWaiting());
    worker.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(worker.clients.claim()));
    worker.addEventListener('fetch', (/** @type {any} */ event) => {
      // What a page of another origin answered is none of ours.
      if (new URL(event.request.url).origin === location.origin) event.respondWith(isolate(event.request));
    });
  }

  /** @param {Request} request */
  async function isolate(request) {
    const response = await fetch(request);
    if (response.type === 'opaqueredirect' || response.type === 'error') return response;
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(added)) headers.set(name, value);
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
  }

  /**
   * The URL as a TrustedScriptURL; as it is where there are none or the policy is not allowed, which may do, too.
   * @param {string} src
   */
  function trusted(src) {
    try {
      const { trustedTypes } = /** @type {any} */ (globalThis);
      return trustedTypes.createPolicy(policy, { createScriptURL: String }).createScriptURL(src);
    } catch {
      return src;
    }
  }

  async function begin() {
    const { serviceWorker } = navigator;
    if (!serviceWorker) throw new Error('this page has no service workers: is it on https or localhost?');
    if (serviceWorker.controller && sessionStorage.getItem('isolate.js')) {
      throw new Error('the page is not isolated though the service worker serves it');
    }
    const script = trusted(/** @type {HTMLScriptElement} */ (document.currentScript).src);
    sessionStorage.setItem('isolate.js', 'reloaded');
    const controlled = new Promise((resolve) => serviceWorker.addEventListener('controllerchange', resolve));
    await serviceWorker.register(script).catch((error) => {
      throw new Error(
        `${error.message} (where Trusted Types are required, the page must allow: trusted-types ${policy})`,
      );
    });
    if (!serviceWorker.controller) await controlled;
    location.reload();
  }
})();
