// Fork and join over shared memory. The loop's chunks are taken by whoever is free, so that a thread which the system
// holds up delays no other; a thread that has not woken is not waited for.

// Words of the control block, those that several threads write on cache lines of their own.
const TICKET = 0; // number of the loop, and the next chunk to take in the low byte
const LEFT = 16; // chunks not done
const SLEEPERS = 32;
const FAILED = 48;
const BODY = 64; // of the loop: function, arguments, iterations, chunks
const ARGUMENTS = 65;
const EXTENT = 66;
const CHUNKS = 67;
const BYTES = 320;

const CLOSED = 255; // no loop has so many chunks
const LOOPS = 1 << 24; // then their numbers begin again
const ROUNDS = 8; // of chunks, each half as large as those of the round before
const CHUNKS_OF_ROUND = 1; // for each thread
const SPINS = 2000; // about as long as it takes to wake a thread

/** @typedef {(body: number, args: number, begin: number, end: number) => void} Chunk iterations of a loop's body */
/** @typedef {(body: number, args: number, extent: number) => void} ParallelFor */

export const createControl = () => {
  const control = new Int32Array(new SharedArrayBuffer(BYTES));
  control[TICKET] = CLOSED;
  return control;
};

/**
 * The function that compiled code calls for a loop of `extent` iterations.
 * @param {Int32Array} control
 * @param {number} threads
 * @param {Chunk} chunk
 * @returns {ParallelFor}
 */
export function parallelFor(control, threads, chunk) {
  const chunks = ROUNDS * Math.min(threads * CHUNKS_OF_ROUND, Math.floor((CLOSED - 1) / ROUNDS));
  let loop = 0;
  // <canaries>
  // After loops by which threads were tried: a thread that is slow takes none of these for one of those.
  loop = Atomics.load(control, TICKET) >>> 8;
  // </canaries>
  return (body, args, extent) => {
    if (extent < 2) {
      chunk(body, args, 0, extent);
      return;
    }
    // While the ticket is closed no thread takes a chunk by a description that is half written.
    Atomics.store(control, TICKET, (loop << 8) | CLOSED);
    loop = (loop + 1) % LOOPS;
    Atomics.store(control, BODY, body);
    Atomics.store(control, ARGUMENTS, args);
    Atomics.store(control, EXTENT, extent);
    Atomics.store(control, CHUNKS, chunks);
    Atomics.store(control, LEFT, chunks);
    Atomics.store(control, TICKET, loop << 8);
    if (Atomics.load(control, SLEEPERS) > 0) Atomics.notify(control, TICKET);
    takeChunks(control, chunk);
    waitForOthers(control);
    if (Atomics.load(control, FAILED)) throw new Error('one of its threads failed');
  };
}

// <canaries>
/** ms for which loops are left to other threads, of which one may be held up. */
const PATIENCE = 50;

/**
 * Chunks of the first thread, which it computes when others have done all that they can.
 * @param {Int32Array} control
 * @param {Chunk} chunk
 * @returns {Chunk}
 */
export function afterOthers(control, chunk) {
  const until = performance.now() + PATIENCE;
  return (...iterations) => {
    for (let left = Atomics.load(control, LEFT); left > 1 && performance.now() < until; ) {
      Atomics.wait(control, LEFT, left, 1);
      left = Atomics.load(control, LEFT);
    }
    chunk(...iterations);
  };
}

// </canaries>
/**
 * The first iteration of a chunk. Each round hands out half of what is left, the last one all of it: large chunks cost
 * little, and with small ones at the end all threads are done at about one time.
 * @param {number} chunk
 * @param {number} chunks
 * @param {number} extent
 */
function beginOf(chunk, chunks, extent) {
  if (chunk === chunks) return extent;
  const most = chunks / ROUNDS;
  const round = Math.floor(chunk / most);
  const left = 2 ** -round;
  const share = round === ROUNDS - 1 ? left : left / 2;
  return Math.floor(extent * (1 - left + (share * (chunk % most)) / most));
}

/**
 * A thread of the pool: never returns.
 * @param {Int32Array} control
 * @param {Chunk} chunk
 */
export function serve(control, chunk) {
  for (;;) {
    try {
      waitForLoop(control, takeChunks(control, chunk));
    } catch {
      // FAILED signals it to the others; the rest of the loop continues.
    }
  }
}

/**
 * Takes chunks until there are none.
 * @param {Int32Array} control
 * @param {Chunk} chunk
 * @returns {number} the ticket without a chunk
 */
function takeChunks(control, chunk) {
  for (;;) {
    const ticket = Atomics.load(control, TICKET);
    const next = ticket & 0xff;
    const body = Atomics.load(control, BODY);
    const args = Atomics.load(control, ARGUMENTS);
    const extent = Atomics.load(control, EXTENT);
    const chunks = Atomics.load(control, CHUNKS);
    if (next >= chunks) return ticket;
    // Where the ticket is still the same, so was the loop: it does not end before its last chunk is done.
    if (Atomics.compareExchange(control, TICKET, ticket, ticket + 1) !== ticket) continue;
    try {
      const begin = beginOf(next, chunks, extent);
      const end = beginOf(next + 1, chunks, extent);
      if (begin < end) chunk(body, args, begin, end);
    } catch (error) {
      Atomics.store(control, FAILED, 1);
      throw error;
    } finally {
      if (Atomics.sub(control, LEFT, 1) === 1) Atomics.notify(control, LEFT);
    }
  }
}

/** @param {Int32Array} control */
function waitForOthers(control) {
  for (let turn = 0; turn < SPINS; turn++) if (Atomics.load(control, LEFT) === 0) return;
  for (let left = Atomics.load(control, LEFT); left > 0; left = Atomics.load(control, LEFT)) {
    Atomics.wait(control, LEFT, left);
  }
}

/**
 * Returns once the ticket is another.
 * @param {Int32Array} control
 * @param {number} ticket
 */
function waitForLoop(control, ticket) {
  for (let turn = 0; turn < SPINS; turn++) if (Atomics.load(control, TICKET) !== ticket) return;
  Atomics.add(control, SLEEPERS, 1);
  Atomics.wait(control, TICKET, ticket);
  Atomics.sub(control, SLEEPERS, 1);
}
