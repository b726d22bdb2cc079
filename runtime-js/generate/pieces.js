// Text of tokens that come one at a time: pieces of whole characters, until one of the strings that end it.

/** @typedef {import('../texts/tokenizers.js').Tokenizer} Tokenizer */

const CONTEXT = 6; // tokens before, which tell a decoder whether a word begins
const LONGEST = 24; // tokens that are decoded again with each one
const MALFORMED = 8; // so many tokens make no character of bytes that are none
const UNFINISHED = '\uFFFD'; // bytes of a character that lacks some

/**
 * The tokens of a prompt: with those of the tokenizer's template where it begins a text.
 * @param {import('../texts/texts.js').TextSpec} spec
 * @param {Tokenizer} tokenizer
 * @param {string} text
 * @param {boolean} begins
 */
function encode({ single }, tokenizer, text, begins) {
  const ids = tokenizer.encode(text);
  return begins ? single.flatMap(([part]) => (typeof part === 'number' ? [part] : ids)) : ids;
}

/** Pieces of a text, behind tokens that came before. */
class Pieces {
  /**
   * @param {Tokenizer} tokenizer
   * @param {readonly number[]} before
   */
  constructor(tokenizer, before) {
    this.tokenizer = tokenizer;
    this.ids = before.slice(-CONTEXT);
    this.shown = tokenizer.decode(this.ids, false).replace(/\uFFFD+$/, '').length;
    this.unfinished = 0;
    this.waiting = '';
  }

  copy() {
    return Object.assign(new Pieces(this.tokenizer, []), this);
  }

  /** @param {number} id */
  push(id) {
    this.ids = [...this.ids, id];
    const text = this.tokenizer.decode(this.ids, false);
    if (text.endsWith(UNFINISHED) && this.unfinished++ < MALFORMED) return;
    this.waiting += text.slice(this.shown);
    this.shown = text.length;
    this.unfinished = 0;
    if (this.ids.length < LONGEST) return;
    // Decoders take the space away that a text begins with; a character is not parted.
    const context = this.tokenizer.decode(this.ids.slice(-CONTEXT), false);
    if (!context.trim() || context.includes(UNFINISHED)) return;
    this.ids = this.ids.slice(-CONTEXT);
    this.shown = context.length;
  }

  /**
   * The text so far, up to the first of `stops`; what may be the beginning of one waits.
   * @param {readonly string[]} stops
   * @returns {{ text: string, stopped: boolean }}
   */
  take(stops) {
    const { waiting } = this;
    const found = stops.map((stop) => ({ at: waiting.indexOf(stop), stop })).filter(({ at }) => at >= 0);
    const [first] = found.sort((a, b) => a.at - b.at || b.stop.length - a.stop.length);
    if (first) {
      this.waiting = waiting.slice(first.at + first.stop.length);
      return { text: waiting.slice(0, first.at), stopped: true };
    }
    let end = Math.max(0, waiting.length - Math.max(0, ...stops.map(({ length }) => length - 1)));
    while (!stops.some((stop) => stop.startsWith(waiting.slice(end))) && end < waiting.length) end++;
    this.waiting = waiting.slice(end);
    return { text: waiting.slice(0, end), stopped: false };
  }
}

export const pieces = { encode, Pieces };
