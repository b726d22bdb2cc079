// Frames of the protocol (PROTOCOL.md): a JSON header and raw bytes, in one WebSocket message or in several.

const CHUNK = 2 ** 19;
const LARGEST_PAYLOAD = 2 ** 30;
/** Messages of one connection whose frames may be interleaved. */
const MOST_OPEN = 16;

/** @typedef {Record<string, any>} Header */
/** @typedef {{ header: Header, payload: Uint8Array<ArrayBuffer> }} Message */

/**
 * The frames of a message whose payload is made of several parts.
 * @param {Header} header
 * @param {Uint8Array[]} parts
 */
export function* encode(header, parts) {
  const total = parts.reduce((sum, part) => sum + part.length, 0);
  let frame = begin(total > CHUNK ? { ...header, bytes: total } : header, Math.min(total, CHUNK));
  let at = 0;
  for (const part of parts) {
    for (let copied = 0; copied < part.length; ) {
      if (frame.filled === frame.bytes.length) {
        yield frame.bytes;
        frame = begin({ id: header.id, at }, Math.min(total - at, CHUNK));
      }
      const piece = part.subarray(copied, copied + frame.bytes.length - frame.filled);
      frame.bytes.set(piece, frame.filled);
      frame.filled += piece.length;
      copied += piece.length;
      at += piece.length;
    }
  }
  yield frame.bytes;
}

/**
 * A frame with its header, and room for so many bytes of payload.
 * @param {Header} header
 * @param {number} room
 */
function begin(header, room) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(4 + text.length + room);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  return { bytes, filled: 4 + text.length };
}

/**
 * Puts the frames of one connection together. Its memory is bounded by what has arrived, never by what a header announces;
 * what has arrived of a call that ends is dropped with it.
 */
export class Assembler {
  /** @type {Map<number, { header: Header, pieces: Uint8Array[], filled: number }>} */
  #open = new Map();

  /**
   * The message that a frame completes, if it does.
   * @param {ArrayBuffer} frame
   * @returns {Message | undefined}
   * @throws {RangeError} for what is no frame
   */
  feed(frame) {
    const length = new DataView(frame).getUint32(0, true);
    /** @type {Header} */
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(frame, 4, length)));
    const piece = new Uint8Array(frame, 4 + length);
    if (header.op === 'cancel') this.#open.delete(header.call);
    if (header.op === 'released') this.#open.clear();
    if (header.at === undefined && header.bytes === undefined) return { header, payload: piece };
    const open = header.at === undefined ? this.#start(header) : this.#open.get(header.id);
    const { filled } = open ?? {};
    if (!open || (header.at !== undefined && (header.at !== filled || !piece.length)))
      throw new RangeError(`a piece at ${header.at} of message ${header.id}, which has ${filled ?? 'no'} bytes`);
    open.pieces.push(piece);
    open.filled += piece.length;
    const { bytes } = open.header;
    if (open.filled > bytes) throw new RangeError(`${open.filled} bytes of a message of ${bytes}`);
    if (open.filled < bytes) return undefined;
    this.#open.delete(header.id);
    return { header: open.header, payload: join(open.pieces, bytes) };
  }

  /** @param {Header} header */
  #start(header) {
    const { id, bytes } = header;
    if (!(Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= LARGEST_PAYLOAD))
      throw new RangeError(`a message of ${bytes} bytes`);
    if (this.#open.has(id) || this.#open.size >= MOST_OPEN)
      throw new RangeError(`message ${id} is there already, or ${MOST_OPEN} others are incomplete`);
    const open = { header, pieces: [], filled: 0 };
    this.#open.set(id, open);
    return open;
  }
}

/**
 * @param {Uint8Array[]} pieces
 * @param {number} length
 */
function join(pieces, length) {
  const joined = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}
