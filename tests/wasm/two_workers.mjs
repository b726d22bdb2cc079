// Runs programs/atomics.ll in two worker threads on one shared memory; prints what they saw as JSON.
// Arguments: the module's file, its heap base.
import { readFileSync } from 'node:fs';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';

const TURNS = 2000;

if (isMainThread) {
  const module = new WebAssembly.Module(readFileSync(process.argv[2]));
  const memory = new WebAssembly.Memory({ initial: 3, maximum: 3, shared: true });
  const heapBase = Number(process.argv[3]);
  // The first instance is made, and the counter moved, before the workers make theirs: they must not put it back.
  const first = new WebAssembly.Instance(module, { env: { memory } });
  first.exports.advance(0);
  const results = await Promise.all([0, 1].map((which) => new Promise((resolve, reject) => {
    const stackTop = heapBase + 4096 * (which + 1);
    const worker = new Worker(new URL(import.meta.url), { workerData: { module, memory, which, stackTop } });
    worker.once('message', resolve);
    worker.once('error', reject);
  })));
  const total = first.exports.advance(0);
  console.log(JSON.stringify({ turns: TURNS, total, stacks: results, woken: first.exports.wake() }));
} else {
  const { module, memory, which, stackTop } = workerData;
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  exports.__stack_pointer.value = stackTop;
  for (let i = 0; i < TURNS; i++) exports.advance(which);
  parentPort.postMessage(exports.stack_address());
}
