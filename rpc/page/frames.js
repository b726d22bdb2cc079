// Frames of the protocol (PROTOCOL.md): a JSON header and raw bytes, in one WebSocket message or in several.

const CHUNK = 8 * 2 ** 20;
const LARGEST_PAYLOAD = 2 ** 30;

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
    for (let taken = 0; taken < part.length; ) {
      if (frame.filled === frame.bytes.length) {
        yield frame.bytes;
        frame = begin({ id: header.id, at }, Math.min(total - at, CHUNK));
      }
      const piece = part.subarray(taken, taken + frame.bytes.length - frame.filled);
      frame.bytes.set(piece, frame.filled);
      frame.filled += piece.length;
      taken += piece.length;
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

/** Puts the frames of one connection together. */
export class Assembler {
  /** @type {Map<number, { header: Header, payload: Uint8Array<ArrayBuffer>, filled: number }>} */
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
    if (header.at === undefined && header.bytes === undefined) return { header, payload: piece };
    const open = this.#open.get(header.id) ?? this.#start(header);
    if (header.at !== undefined && header.at !== open.filled) throw new RangeError(`a piece at ${header.at}`);
    open.payload.set(piece, open.filled);
    open.filled += piece.length;
    if (open.filled < open.payload.length) return undefined;
    this.#open.delete(header.id);
    return open;
  }

  /** @param {Header} header */
  #start(header) {
    if (!(header.bytes <= LARGEST_PAYLOAD)) throw new RangeError(`a message of ${header.bytes} bytes`);
    const open = { header, payload: new Uint8Array(header.bytes), filled: 0 };
    this.#open.set(header.id, open);
    return open;
  }
}
