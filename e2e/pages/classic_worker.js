// A classic worker, or a service worker, of a page's own that loads a bundle's script and runs the model.
importScripts('./bundle/model.js');

globalThis.onmessage = async ({ data, ports: [port] }) => {
  const reply = (answer) => (port ?? globalThis).postMessage(answer);
  try {
    const model = await tiny.load(data.options);
    const { output } = await model.run({ input: Float32Array.from(data.values) });
    reply({ output: [...output], info: model.info() });
    await model.dispose();
  } catch (error) {
    reply({ error: `${error.name}: ${error.message}` });
  }
};
