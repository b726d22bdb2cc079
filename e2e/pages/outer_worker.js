// A page's own worker that loads the model, with a worker inside it or without.
import { load } from './bundle/model.js';

globalThis.onmessage = async ({ data: { options, input } }) => {
  try {
    const model = await load(options);
    const { output } = await model.run({ input });
    globalThis.postMessage({ output, info: model.info() });
    await model.dispose();
  } catch (error) {
    globalThis.postMessage({ error: String(error) });
  }
};
