// A page's own worker that loads the model, with workers inside it or without, and counts those.
import { load } from './bundle/model.js';

let workers = 0;
globalThis.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    workers++;
  }
};

globalThis.onmessage = async ({ data: { options, inputs } }) => {
  try {
    const model = await load(options);
    const given = Object.entries(inputs).map(([name, values]) => [name, Float32Array.from(values)]);
    const results = Object.entries(await model.run(Object.fromEntries(given)));
    const outputs = Object.fromEntries(results.map(([name, values]) => [name, [...values]]));
    globalThis.postMessage({ outputs, info: model.info(), workers });
    await model.dispose();
  } catch (error) {
    globalThis.postMessage({ error: String(error) });
  }
};
