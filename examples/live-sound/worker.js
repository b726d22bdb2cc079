// In a worker of the page: the model, which keeps its states there, and runs on each chunk of samples.

import { load } from './bundle/model.js';
import { openRing } from './ring.js';
import { HOP } from './settings.js';

/**
 * @typedef {object} Source
 * @property {(samples: number) => Promise<boolean>} wait whether as many are there, now or soon
 * @property {(samples: Float32Array) => void} take
 * @property {number} lost
 */

/** @type {any} whichever model is in the bundle */
const model = await load({ worker: false });
const [input] = model.inputs;
const [output] = model.outputs;
/** The samples of a run: the newest are at the end. */
const samples = new Float32Array(Number(input.shape.at(-1)));
const fresh = samples.subarray(-HOP);
let stream = 0;

globalThis.onmessage = ({ data: { memory, port, stop } }) => {
  stream++;
  if (!stop) listen(memory ? openRing(memory) : sourceOf(port), stream);
};
globalThis.postMessage({ info: model.info() });

/**
 * Runs the model on all that comes, until there is another stream.
 * @param {Source} source
 * @param {number} number
 */
async function listen(source, number) {
  await model.reset();
  samples.fill(0);
  while (true) {
    const enough = await source.wait(HOP);
    if (number !== stream) return;
    if (!enough) continue;
    samples.copyWithin(0, HOP);
    source.take(fresh);
    const began = performance.now();
    const scores = (await model.run({ [input.name]: samples }))[output.name];
    globalThis.postMessage({ scores, milliseconds: performance.now() - began, lost: source.lost });
  }
}

/**
 * Buffers of HOP samples that a port sends, each of which goes back.
 * @param {MessagePort} port
 * @returns {Source}
 */
function sourceOf(port) {
  /** @type {Float32Array<ArrayBuffer>[]} */
  const waiting = [];
  let arrived = () => {};
  port.onmessage = ({ data }) => {
    waiting.push(data);
    arrived();
  };
  return {
    wait: () =>
      new Promise((resolve) => {
        arrived = () => resolve(true);
        if (waiting.length) arrived();
      }),
    take(samples) {
      for (const buffer of waiting.splice(0, 1)) {
        samples.set(buffer);
        port.postMessage(buffer, [buffer.buffer]);
      }
    },
    lost: 0,
  };
}
