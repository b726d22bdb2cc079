// A manifest as the broker sends it, its files named by their hashes alone.

/**
 * The manifest with the address of each file, and no other address.
 * @param {any} value
 * @param {(sha256: string, name: string) => string | undefined} locate
 * @returns {any}
 */
export function withUrls(value, locate) {
  if (Array.isArray(value)) return value.map((element) => withUrls(element, locate));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'url');
  const fields = entries.map(([key, field]) => [key, withUrls(field, locate)]);
  return Object.fromEntries(value.sha256 ? [...fields, ['url', locate(value.sha256, value.file)]] : fields);
}
