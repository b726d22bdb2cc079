// Has the service worker serve this page: its files are kept, and it is cross-origin isolated.

/** Key for this folder: others on the same origin have service workers of their own. */
const RELOADED = `webnn-compile-page reloaded ${import.meta.url}`;

/**
 * On the first visit the page loads twice. Without a service worker, as on http: addresses and in some private windows,
 * the page works, too: it is downloaded each time, and cannot tune.
 */
export async function keepFiles() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  try {
    const registered = await serviceWorker.register(new URL('./sw.js', import.meta.url), { updateViaCache: 'none' });
    if (!registered.active) await serviceWorker.ready;
    if (crossOriginIsolated || sessionStorage.getItem(RELOADED)) return;
    sessionStorage.setItem(RELOADED, 'yes');
  } catch (error) {
    console.warn(`the page's files are not kept: ${/** @type {Error} */ (error).message}`);
    return;
  }
  location.reload();
  await new Promise(() => {});
}
