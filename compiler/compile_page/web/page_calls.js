// Synchronous requests from the compiler's worker to the page: requests go by a port, answers come in shared memory, piece
// by piece, since a worker that waits receives no message.

/** Bytes of a piece. */
const PIECE = 2 ** 20;
/** The shared words: the request of which a piece is there, or 0; its bytes, those of the answer; whether to stop. */
const [READY, LENGTH, TOTAL, STOPPED, WORDS] = [0, 1, 2, 3, 4];

/** @typedef {{ port: MessagePort, memory: SharedArrayBuffer }} Line */

export const createMemory = () => new SharedArrayBuffer(WORDS * 4 + PIECE);

/** @param {SharedArrayBuffer} memory */
const open = (memory) => ({ control: new Int32Array(memory, 0, WORDS), piece: new Uint8Array(memory, WORDS * 4) });

/**
 * Sets the flag at which a worker that waits, or will, stops.
 * @param {SharedArrayBuffer} memory
 */
export const stop = (memory) => Atomics.store(open(memory).control, STOPPED, 1);

/**
 * The worker's side.
 * @param {Line} line
 */
export function createCaller({ port, memory }) {
  const { control, piece } = open(memory);
  let last = 0;
  return {
    stopped: () => Atomics.load(control, STOPPED) === 1,
    /**
     * @param {string} header
     * @param {Uint8Array<ArrayBuffer>} payload
     * @param {number} seconds
     * @returns {{ header: string, payload: Uint8Array } | undefined} undefined without an answer in that time
     */
    exchange(header, payload, seconds) {
      const id = ++last;
      port.postMessage({ id, header, payload }, [payload.buffer]);
      /** @type {Uint8Array | undefined} */
      let answer;
      for (let at = 0; !answer || at < answer.length; ) {
        if (Atomics.wait(control, READY, 0, seconds * 1000) === 'timed-out') {
          port.postMessage({ id, abandoned: true });
          return undefined;
        }
        const ready = Atomics.load(control, READY);
        if (ready !== id) {
          // Of an abandoned request; unless a piece of this one came in its place since.
          Atomics.compareExchange(control, READY, ready, 0);
          continue;
        }
        answer ??= new Uint8Array(control[TOTAL] ?? 0);
        const length = control[LENGTH] ?? 0;
        answer.set(piece.subarray(0, length), at);
        at += length;
        Atomics.store(control, READY, 0);
        port.postMessage({ id, received: at });
      }
      const bytes = new DataView(answer.buffer).getUint32(0, true);
      return { header: new TextDecoder().decode(answer.subarray(4, 4 + bytes)), payload: answer.subarray(4 + bytes) };
    },
  };
}

/**
 * The page's side: calls `answer` for each request. What it replies to a request that was abandoned is dropped.
 * @param {Line} line
 * @param {(header: any, payload: Uint8Array<ArrayBuffer>, reply: (header: any, parts?: Uint8Array[]) => Promise<void>) => void} answer
 * @param {() => void} giveUp
 */
export function answerCalls({ port, memory }, answer, giveUp) {
  const { control, piece } = open(memory);
  let current = 0;
  /** @type {{ bytes: Uint8Array, at: number, done: () => void } | undefined} */
  let sending;

  const send = () => {
    if (!sending) return;
    const { bytes, at, done } = sending;
    if (at === bytes.length) {
      sending = undefined;
      done();
      return;
    }
    const part = bytes.subarray(at, at + PIECE);
    piece.set(part);
    control[LENGTH] = part.length;
    control[TOTAL] = bytes.length;
    sending.at += part.length;
    Atomics.store(control, READY, current);
    Atomics.notify(control, READY);
  };

  port.onmessage = ({ data: { id, header, payload, abandoned } }) => {
    if (abandoned) {
      current = 0;
      sending = undefined;
      giveUp();
    } else if (header !== undefined) {
      current = id;
      answer(JSON.parse(header), payload, (reply, parts = []) => {
        if (current !== id) return Promise.resolve();
        return new Promise((done) => {
          sending = { bytes: join(reply, parts), at: 0, done };
          send();
        });
      });
    } else if (id === current) send();
  };
}

/**
 * @param {any} header
 * @param {Uint8Array[]} parts
 */
function join(header, parts) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(4 + text.length + parts.reduce((sum, part) => sum + part.length, 0));
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  let at = 4 + text.length;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
