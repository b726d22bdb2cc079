// onnxruntime-web: the same ONNX file.
import { fetchBytes } from './case.js';

const DIST = '/benchmarks/node_modules/onnxruntime-web/dist/';

export async function create(folder, { model, threads }) {
  const ort = await import(`${DIST}ort.wasm.min.mjs`);
  ort.env.wasm.wasmPaths = new URL(DIST, location.href).href;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(new Uint8Array(await fetchBytes(model ?? `${folder}/model.onnx`)), {
    executionProviders: ['wasm'],
    graphOptimizationLevel: 'all',
  });
  return {
    async run(inputs) {
      const feeds = inputs.map(({ name, dtype, data, shape }) => [name, new ort.Tensor(dtype, data, shape)]);
      const results = await session.run(Object.fromEntries(feeds));
      return Object.fromEntries(Object.entries(results).map(([name, tensor]) => [name, tensor.data]));
    },
    facts: () => ({ version: ort.env.versions.web, threads }),
  };
}
