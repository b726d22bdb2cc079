/**
 * Whether a URL is of another origin than this page or worker, which Node.js has none of.
 * @param {string} url
 */
export const isElsewhere = (url) => globalThis.location !== undefined && new URL(url).origin !== location.origin;
