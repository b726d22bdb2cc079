// Text from elsewhere, such as the names of a model's inputs, inside code that is copied.

/** Characters that terminals, editors or readers interpret: controls, marks of direction, line ends. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** @param {string} text in a line behind `//` */
export const commentText = (text) => text.replace(UNSEEN, '\u{fffd}');

/** @param {string} text as a string of JavaScript, in single quotes */
export const literal = (text) =>
  `'${text.replace(/[\\']/g, '\\$&').replace(UNSEEN, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`)}'`;

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
