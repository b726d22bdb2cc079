// In the thread of the audio: hands samples to the thread of the model, by a ring that both share, or in buffers that
// change hands.

import { openRing } from './ring.js';

class Samples extends AudioWorkletProcessor {
  /** @param {{ processorOptions: { memory?: SharedArrayBuffer, hop: number } }} options */
  constructor({ processorOptions: { memory, hop } }) {
    super();
    this.write = memory ? openRing(memory).write : bySending(this.port, hop);
  }

  /**
   * @override
   * @param {Float32Array[][]} inputs one, of one channel, or of none while nothing is connected
   */
  process([channels]) {
    const samples = channels?.[0];
    if (samples) this.write(samples);
    return true;
  }
}

/**
 * @param {MessagePort} port gives buffers back
 * @param {number} hop samples of a buffer
 */
function bySending(port, hop) {
  /** @type {Float32Array<ArrayBuffer>[]} */
  const spare = [];
  port.onmessage = ({ data }) => spare.push(data);
  let buffer = new Float32Array(hop);
  let used = 0;
  return (/** @type {Float32Array} */ samples) => {
    for (const sample of samples) {
      buffer[used++] = sample;
      if (used < hop) continue;
      port.postMessage(buffer, [buffer.buffer]);
      buffer = spare.pop() ?? new Float32Array(hop);
      used = 0;
    }
  };
}

registerProcessor('samples', Samples);
