// A thread for pool.test.js, and what stands there for a compiled loop's body.
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { serve } from '../../runtime-js/wasm/pool.js';

export const FAULTY = -1;

/** @param {Int32Array} counts */
export const makeChunk =
  (counts) =>
  (/** @type {number[]} */ ...[body, args, begin, end]) => {
    for (let i = begin; i < end; i++) Atomics.add(counts, i, body + args + 1);
  };

if (!isMainThread) {
  const { control, counts } = workerData;
  const chunk = makeChunk(counts);
  parentPort.postMessage('ready');
  serve(control, (body, args, begin, end) => {
    if (body === FAULTY) {
      Atomics.store(counts, counts.length - 1, 1);
      throw new Error('faulty');
    }
    chunk(body, args, begin, end);
  });
}
