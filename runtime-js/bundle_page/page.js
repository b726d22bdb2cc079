// The page that comes with a bundle: loads the model, runs it on made-up input, shows results and times.

import * as bundle from '../model.js';
import { numbersOf } from '../values/compare_results.js';
import { elementOf, lengthOf, typedArray } from '../values/dtypes.js';
import { offerCopies } from './copy_code.js';
import { offerMeasuring } from './measure_backends.js';
import { element, showStatus, showTable, time } from './page_elements.js';
import * as parts from './page_parts.js';

/** @typedef {import('../model.js').TensorInfo} TensorInfo */
/** @typedef {import('../model.js').TypedArray} TypedArray */

const progress = /** @type {HTMLProgressElement} */ (element('progress'));
const button = /** @type {HTMLButtonElement} */ (element('run'));

/** One value that is safe for any model: floats from [0, 1), integers 0 or 1 (an index must stay in range). */
/** @type {Record<string, (u: number) => number | bigint>} */
const draw = {
  float16: (u) => 0x3800 + Math.floor(u * 0x400), // the bits of [0.5, 1)
  float32: (u) => u,
  float64: (u) => u,
  int64: (u) => BigInt(Math.round(u)),
  uint64: (u) => BigInt(Math.round(u)),
};

/**
 * @param {string} dtype
 * @param {readonly number[]} shape
 * @param {boolean} random
 */
function makeInput(dtype, shape, random) {
  const array = typedArray(dtype, new ArrayBuffer(lengthOf(shape) * elementOf(dtype).bytes));
  const value = draw[dtype] ?? Math.round;
  for (let i = 0; random && i < array.length; i++) array[i] = value(Math.random());
  return array;
}

/** @param {{ dtype: string, shape: readonly (number | string)[], answer?: string, picture?: number, sound?: number }} tensor */
const describe = ({ dtype, shape, answer, ...filled }) =>
  answer ?? parts.fileInputs?.kindOf(filled) ?? `${dtype} [${shape.join(', ')}]`;

/**
 * A field for each size that a run decides.
 * @param {readonly import('../model.js').Dimension[]} dimensions
 * @returns {() => Record<string, number>} what they say
 */
function askSizes(dimensions) {
  const fields = dimensions.flatMap(({ name, least, most, multiple, after }) => {
    if (after !== undefined) return []; // runs before decide it
    const input = document.createElement('input');
    Object.assign(input, {
      type: 'number',
      min: least,
      max: most,
      step: multiple,
      value: String(most),
      required: true,
    });
    const label = document.createElement('label');
    label.append(`${name} `, input);
    element('sizes').append(label);
    return [/** @type {const} */ ([name, input])];
  });
  return () => Object.fromEntries(fields.map(([name, input]) => [name, input.valueAsNumber]));
}

/**
 * @param {import('../model.js').Model} model
 * @param {Record<string, number>} sizes
 * @param {boolean} random
 */
function makeInputs(model, sizes, random) {
  const shapes = model.inputShapes(sizes);
  const inputs = model.inputs.map(({ name, dtype }) => {
    const shape = /** @type {number[]} */ (shapes[name]);
    return /** @type {const} */ ([name, { data: makeInput(dtype, shape, random), shape }]);
  });
  const byName = Object.fromEntries(inputs);
  for (const { name, input } of model.dimensions) {
    const data = byName[input ?? '']?.data;
    if (data) data[0] = data instanceof BigInt64Array ? BigInt(Number(sizes[name])) : Number(sizes[name]);
  }
  return byName;
}

/**
 * @param {unknown} value
 * @returns {string}
 */
function show(value) {
  if (typeof value === 'number') return value.toLocaleString('en');
  if (Array.isArray(value)) return value.map(show).join('\n') || 'none';
  if (typeof value !== 'object' || value === null) return String(value);
  const { backend, reason, ...rest } = /** @type {Record<string, unknown>} */ (value);
  if (reason) return `${backend}: ${reason}`;
  return Object.entries(rest)
    .map(([key, one]) => `${key} ${show(one)}`)
    .join('\n');
}

/**
 * @param {string} dtype
 * @param {TypedArray} array
 */
function summarise(dtype, array) {
  const values = numbersOf(array, dtype);
  const number = (/** @type {number} */ value) => String(Number(value.toPrecision(5)));
  if (values.length === 0) return 'empty';
  const largest = values.reduce((best, value, i) => (value > /** @type {number} */ (values[best]) ? i : best), 0);
  const head = values.slice(0, 10).map(number).join(', ');
  return `${head}${values.length > 10 ? ', …' : ''}\nlargest: ${number(values[largest] ?? Number.NaN)} at ${largest}`;
}

async function main() {
  let { load } = bundle;
  // <functions>
  ({ load } = parts.chooseFunction(bundle));
  // </functions>
  const began = performance.now();
  const model = await load({
    onProgress({ phase, loaded, total }) {
      if (phase === 'weights') progress.value = loaded / total;
    },
  });
  const loadTime = performance.now() - began;
  const info = model.info();
  progress.hidden = true;
  element('model').hidden = false;
  showTable(
    'inputs',
    model.inputs.map((tensor) => [tensor.name, describe(tensor)]),
  );
  showTable(
    'outputs',
    model.outputs.map((tensor) => [tensor.name, describe(tensor)]),
  );
  showTable('times', [['load', time(loadTime)]]);
  showTable(
    'info',
    Object.entries(info).map(([key, value]) => [key.replace(/[A-Z]/g, ' $&').toLowerCase(), show(value)]),
  );
  const files = parts.fileInputs?.ask(model.inputs, element('sizes'), showFailure, parts.recordSound);
  const text = parts.askText?.(model.inputs, element('sizes'));
  const sizes = askSizes(model.dimensions);
  /** @type {(() => Record<string, number>) | undefined} */
  const kept = parts.showState?.(model, element('sizes'), alone);
  showStatus(`Ready, on ${info.backend}.`);
  const inputsNow = () => {
    const random = /** @type {HTMLSelectElement} */ (element('fill')).value === 'random';
    const inputs = { ...makeInputs(model, { ...sizes(), ...kept?.() }, random), ...files?.() };
    const { without, ...given } = text?.() ?? { without: [] };
    for (const name of without) delete inputs[name];
    return { ...inputs, ...given };
  };
  offerMeasuring(model, load, inputsNow, alone);
  parts.offerGenerating?.(model, alone);

  async function run() {
    const runs = Math.max(1, /** @type {HTMLInputElement} */ (element('runs')).valueAsNumber || 1);
    const [file] = Object.values(files?.() ?? {});
    let inputs = inputsNow();
    /** @type {import('../model.js').Outputs} */
    let outputs = {};
    /** @type {number[]} */
    const times = [];
    for (let i = 0; i < runs; i++) {
      showStatus(`Run ${i + 1} of ${runs} …`);
      const start = performance.now();
      outputs = await model.run(inputs);
      times.push(performance.now() - start);
      if (kept) inputs = inputsNow(); // which may be as long as what is kept
    }
    showTable(
      'outputs',
      model.outputs.map((output) => {
        const { name, dtype, shape } = output;
        if ('answer' in output)
          return [name, parts.showAnswer(/** @type {any} */ (output.answer), outputs[name], file)];
        const array = /** @type {import('../model.js').Outputs[string]} */ (outputs[name]);
        return [name, `${describe({ dtype, shape: array.shape ?? shape })}\n${summarise(dtype, array)}`];
      }),
    );
    const sorted = [...times].sort((a, b) => a - b);
    showTable('times', [
      ['load', time(loadTime)],
      ['first run', time(/** @type {number} */ (times[0]))],
      [`median of ${runs}`, time(/** @type {number} */ (sorted[runs >> 1]))],
      ['fastest', time(/** @type {number} */ (sorted[0]))],
    ]);
    showStatus(`Done, on ${info.backend}.`);
  }

  element('form').addEventListener('submit', (event) => {
    event.preventDefault();
    return alone(run);
  });
}

let running = false;

/**
 * Times are those of one task.
 * @param {() => Promise<void>} task
 */
async function alone(task) {
  if (running) return;
  running = true;
  button.disabled = true;
  await task().catch(showFailure);
  button.disabled = false;
  running = false;
}

/** @param {Error} error */
function showFailure(error) {
  progress.hidden = true;
  showStatus(`${error.name}: ${error.message}`, true);
}

offerCopies();
main().catch(showFailure);
