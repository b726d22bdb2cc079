// A limit of the interpreter's memory. WebAssembly memory only grows, and by `grow` alone: a limit there holds whatever
// allocates, and costs nothing between growths.

const PAGE = 65536;

let most = Infinity;
let refused = 0;

const { grow } = WebAssembly.Memory.prototype;

/**
 * An allocation that is refused fails, as it does where the engine has no more: in Python by a MemoryError.
 * @this {WebAssembly.Memory}
 * @param {number} pages
 */
WebAssembly.Memory.prototype.grow = function (pages) {
  const bytes = this.buffer.byteLength + pages * PAGE;
  if (bytes > most) {
    refused = bytes;
    throw new RangeError('the memory would grow beyond its limit');
  }
  // An allocation first tries a larger growth than it needs, then smaller ones.
  if (most < Infinity) refused = 0;
  return grow.call(this, pages);
};

/** @param {number} bytes the largest memory from now on */
export function limitHeap(bytes) {
  most = bytes;
  refused = 0;
}

/** Lifts the limit; what was refused stays known. */
export function liftLimit() {
  most = Infinity;
}

/** The bytes of memory with the last growth, if the limit refused that; else 0. */
export function refusedHeap() {
  return refused;
}
