// A page's worker in a browser that refuses shared memory.
const Memory = WebAssembly.Memory;
WebAssembly.Memory = class extends Memory {
  constructor(size) {
    if (size.shared) throw new RangeError('refused by the test');
    super(size);
  }
};

globalThis.onmessage = async ({ data: { length } }) => {
  const { load } = await import('./bundle/model.js');
  const model = await load({ threads: 2, worker: false });
  const { y } = await model.run({ x: Float32Array.from({ length }, (_, i) => ((i * 7919) % 2003) / 1001 - 1) });
  globalThis.postMessage({ y, info: model.info() });
};
