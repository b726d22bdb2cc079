/**
 * Whether a URL is of another origin than this page or worker, which Node.js has none of. Bundlers put paths of the machine
 * that they run on in place of import.meta.url.
 * @param {string} url
 */
export const isElsewhere = (url) =>
  globalThis.location !== undefined && url.startsWith('http') && new URL(url).origin !== location.origin;
