// A ring of samples in shared memory, which one thread writes and another one reads: no lock, no message, no garbage.

const WRITTEN = 0;
const READ = 1;
const LOST = 2;
const HEADER = 3;
const BYTES = 4;
const PATIENCE = 1000; // milliseconds

/** @param {number} samples a power of two */
export const createRing = (samples) => new SharedArrayBuffer((HEADER + samples) * BYTES);

/** @param {SharedArrayBuffer} memory of `createRing` */
export function openRing(memory) {
  const counts = new Int32Array(memory, 0, HEADER); // of samples, modulo 2 ** 32
  const data = new Float32Array(memory, HEADER * BYTES);
  const filled = () => (Atomics.load(counts, WRITTEN) - Atomics.load(counts, READ)) | 0;
  const place = (/** @type {number} */ count) => count & (data.length - 1);

  return {
    /**
     * All of the samples, or none where there is no room: those are counted as lost.
     * @param {Float32Array} samples
     */
    write(samples) {
      if (filled() + samples.length > data.length) {
        Atomics.add(counts, LOST, samples.length);
        return;
      }
      const written = Atomics.load(counts, WRITTEN);
      const at = place(written);
      const head = Math.min(samples.length, data.length - at);
      for (let i = 0; i < head; i++) data[at + i] = samples[i] ?? 0;
      for (let i = head; i < samples.length; i++) data[i - head] = samples[i] ?? 0;
      Atomics.store(counts, WRITTEN, (written + samples.length) | 0);
      Atomics.notify(counts, WRITTEN);
    },

    /**
     * Whether as many are there now, or within a second.
     * @param {number} samples
     */
    async wait(samples) {
      const written = Atomics.load(counts, WRITTEN);
      if (filled() >= samples) return true;
      await Atomics.waitAsync(counts, WRITTEN, written, PATIENCE).value;
      return filled() >= samples;
    },

    /**
     * The oldest samples, of which there are as many.
     * @param {Float32Array} samples is filled
     */
    take(samples) {
      const read = Atomics.load(counts, READ);
      const at = place(read);
      const head = Math.min(samples.length, data.length - at);
      samples.set(data.subarray(at, at + head));
      samples.set(data.subarray(0, samples.length - head), head);
      Atomics.store(counts, READ, (read + samples.length) | 0);
    },

    get lost() {
      return Atomics.load(counts, LOST);
    },
  };
}
