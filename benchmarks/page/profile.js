// What the machine can do in this browser, and how long each kernel of a bundle takes.
import { fetchBytes, fetchCase } from './case.js';

const PAGE = 65536;

/** The least seconds of several calls. */
function fastest(call, repeats) {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < repeats; i++) {
    const start = performance.now();
    call();
    best = Math.min(best, (performance.now() - start) / 1000);
  }
  return best;
}

/** @param {{ folder: string, bundle: string, runs: number, peak: Peak }} job */
export async function profile({ folder, bundle, runs, peak }) {
  const { inputs } = await fetchCase(folder);
  const { load } = await import(`${folder}/${bundle}/model.js`);
  const model = await load({ backend: 'wasm', worker: false });
  const feeds = Object.fromEntries(inputs.map(({ name, data }) => [name, data]));
  for (let i = 0; i < 3; i++) await model.run(feeds);
  const before = await measurePeak(peak);
  const all = [];
  for (let i = 0; i < runs; i++) all.push((await model.profile(feeds)).map(({ ms }) => ms));
  // Clocks rise and fall: the peak is the better of one before and one after.
  const after = await measurePeak(peak);
  return {
    variant: model.info().variant,
    kernels_ms: all,
    gflops: Math.max(before.gflops, after.gflops),
    gbytes: Math.max(before.gbytes, after.gbytes),
  };
}

/**
 * @typedef {{ url: string, heap: number, operations: number, bytes: number }} Peak A module with `multiply` and `read`,
 *   both called with two addresses, and the work that a call of each does.
 * @param {Peak} peak
 */
export async function measurePeak({ url, heap, operations, bytes }) {
  const { multiply, read } = await startPeak({ url, heap, bytes });
  return {
    gflops: operations / fastest(() => multiply(heap, heap), 60) / 1e9,
    gbytes: bytes / fastest(() => read(heap, heap), 30) / 1e9,
  };
}

/**
 * The least milliseconds of reading as many bytes as the module reads, in order, by one thread.
 * @param {Omit<Peak, 'operations'>} peak
 */
export async function measureReading({ url, heap, bytes }) {
  const { read } = await startPeak({ url, heap, bytes });
  return fastest(() => read(heap, heap), 30) * 1000;
}

async function startPeak({ url, heap, bytes }) {
  const memory = new WebAssembly.Memory({ initial: Math.ceil((heap + bytes) / PAGE) + 1 });
  const { instance } = await WebAssembly.instantiate(await fetchBytes(url), { env: { memory } });
  // Pages that were never written are all one.
  new Float32Array(memory.buffer, heap, bytes / 4).fill(1);
  return instance.exports;
}
