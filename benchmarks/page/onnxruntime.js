// onnxruntime-web: the same ONNX file.
import { fetchBytes } from './case.js';

const DIST = '/benchmarks/node_modules/onnxruntime-web/dist/';

export async function create(folder, { model, threads, backend = 'wasm' }) {
  const ort = await import(`${DIST}ort.${backend}.min.mjs`);
  ort.env.wasm.wasmPaths = new URL(DIST, location.href).href;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(new Uint8Array(await fetchBytes(model ?? `${folder}/model.onnx`)), {
    executionProviders: [backend],
    graphOptimizationLevel: 'all',
  });
  return {
    async run(inputs) {
      const feeds = inputs.map(({ name, dtype, data, shape }) => [name, new ort.Tensor(dtype, data, shape)]);
      const results = await session.run(Object.fromEntries(feeds));
      const data = Object.entries(results).map(async ([name, tensor]) => [name, await tensor.getData()]);
      return Object.fromEntries(await Promise.all(data));
    },
    facts: () => ({ version: ort.env.versions.web, threads }),
  };
}
