// Runs many small models in one page: each has an entry of its own, all share the runtime's files.
import { typedArray } from './dtypes.js';
import { load as loadFirst } from './rows/first.js';

const decode = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const encode = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** One model keeps the device for all: making one is slow. */
let first;

/** Rows of {entry, inputs} -> what each gives: {outputs: {data, shape}[], backend}, or {name, message} of its error. */
globalThis.runRows = async (backend, rows) => {
  first ??= await loadFirst({ backend, worker: false });
  const options = first.device ? { device: first.device } : { backend, worker: false };
  const answers = [];
  for (const { entry, inputs } of rows) {
    try {
      const model = await (await import(`./rows/${entry}`)).load(options);
      const given = model.inputs.map(({ name, dtype }) => [name, typedArray(dtype, decode(inputs[name]))]);
      const results = await model.run(Object.fromEntries(given));
      const outputs = model.outputs.map(({ name, shape }) => ({
        data: encode(bytesOf(results[name])),
        shape: results[name].shape ?? shape,
      }));
      answers.push({ backend: model.backend, outputs });
      await model.dispose();
    } catch (error) {
      answers.push({ name: error.name, message: error.message });
    }
  }
  return answers;
};
document.documentElement.dataset.ready = '';
