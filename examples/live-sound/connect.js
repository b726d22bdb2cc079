// From a node of Web Audio to the worker of the model.

import { createRing } from './ring.js';
import { HOP } from './settings.js';

const RING = 2 ** 16;

/**
 * Sends what a node plays to the worker, from where the context runs; its rate is that of the model.
 * @param {AudioNode} source
 * @param {Worker} worker
 * @returns {Promise<{ shared: boolean, stop(): void }>} whether by shared memory, which needs a page that is isolated
 */
export async function connect(source, worker) {
  const { context } = source;
  await context.audioWorklet.addModule(new URL('processor.js', import.meta.url));
  const memory = globalThis.crossOriginIsolated ? createRing(RING) : undefined;
  const node = new AudioWorkletNode(context, 'samples', {
    numberOfOutputs: 0,
    channelCount: 1,
    channelCountMode: 'explicit',
    processorOptions: { memory, hop: HOP },
  });
  if (memory) worker.postMessage({ memory });
  else worker.postMessage({ port: node.port }, [node.port]);
  source.connect(node);
  return {
    shared: memory !== undefined,
    stop() {
      source.disconnect(node);
      worker.postMessage({ stop: true });
    },
  };
}
