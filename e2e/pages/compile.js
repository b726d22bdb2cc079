// Gives a test the compiler as a page of the user's own imports it.
import { compileModel, openCompiler } from './compile/compiler.js';

const hash = async (bytes) => {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
};
const hashes = async (files) =>
  Object.fromEntries(await Promise.all([...files].map(async ([name, bytes]) => [name, await hash(bytes)])));

Object.assign(globalThis, { compileModel, openCompiler, hashes });

/** The files that the test has chosen. */
globalThis.chosen = () => [...document.querySelector('#files').files];

/** The outcome of a promise as plain data. */
globalThis.outcome = (promise) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, kind: error.kind, message: error.message }),
  );

/** Results by name of each backend: every output's elements, as plain numbers. */
globalThis.runOn = async (made, backends, inputs) => {
  const found = {};
  for (const backend of backends) {
    const model = await made.load({ backend, worker: false });
    const given = model.inputs.map(({ name }) => [name, Float32Array.from(inputs[name])]);
    const outputs = await model.run(Object.fromEntries(given));
    found[model.backend] = Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, [...values]]));
    await model.dispose();
  }
  return found;
};
document.documentElement.dataset.ready = '';
