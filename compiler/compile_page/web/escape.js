// Text from elsewhere, such as the names of a model's inputs, inside commands that are copied.

/** Characters that terminals, editors or readers interpret: controls, marks of direction, line ends. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * @param {string} word as a POSIX shell reads it as one word; with what is unseen as bash, ksh and zsh write it
 */
export function shellWord(word) {
  if (/^[\w./:=,@%+-]+$/.test(word)) return word;
  if (word.search(UNSEEN) < 0) return `'${word.replaceAll("'", "'\\''")}'`;
  const octal = (/** @type {number} */ byte) => `\\${byte.toString(8).padStart(3, '0')}`;
  const bytes = (/** @type {string} */ c) => Array.from(new TextEncoder().encode(c), octal).join('');
  return `$'${word.replace(/[\\']/g, '\\$&').replace(UNSEEN, bytes)}'`;
}
