// Each backend of the bundle: whether this browser has it, how long runs take, and how far results lie apart.
import { largestDifference } from './compare_results.js';
import { drawHistogram } from './draw_histogram.js';
import { element, showStatus, showTable } from './page_elements.js';

const LEAST = 3;
const LONGEST = 10_000; // ms of runs on one backend

/** @typedef {import('../model.js').Model} Model */
/** @typedef {import('../model.js').Backend} Backend */
/**
 * @typedef {object} Measured
 * @property {Error} [error]
 * @property {import('../model.js').Info} [info]
 * @property {number[]} [times] ms
 * @property {import('../model.js').Outputs} [outputs]
 */

/**
 * Others than that of `model` are loaded when they are measured, and disposed of after it.
 * @param {Model} model
 * @param {(options: import('../model.js').LoadOptions) => Promise<Model>} load
 * @param {() => import('../model.js').Inputs} makeInputs
 * @param {(task: () => Promise<void>) => Promise<void>} alone keeps other tasks of the page away
 */
export function offerMeasuring(model, load, makeInputs, alone) {
  const section = element('backends');
  const names = /** @type {Backend[]} */ (section.dataset.backends?.split(' '));
  const which = /** @type {HTMLSelectElement} */ (element('which'));
  const button = /** @type {HTMLButtonElement} */ (element('measure'));
  which.append(...names.map((name) => new Option(name, name)));
  const info = model.info();
  const { passedOver } = info;
  /** @type {Map<Backend, Measured>} */
  const measured = new Map();
  /** @type {AbortController | undefined} while it measures */
  let life;

  const show = () =>
    showTable(
      'measured',
      names.map((name) => {
        const result = measured.get(name) ?? (name === model.backend ? { info } : undefined);
        const reason = passedOver.find(({ backend }) => backend === name)?.reason;
        return [name, result ? describe(result, compared(name, measured)) : (reason ?? 'not tried yet')];
      }),
    );

  async function measure() {
    life = new AbortController();
    const { signal } = life;
    button.textContent = 'Stop';
    const chosen = names.filter((name) => !which.value || name === which.value);
    const count = Math.max(LEAST, /** @type {HTMLInputElement} */ (element('repeats')).valueAsNumber || 1);
    const inputs = makeInputs();
    measured.clear();
    for (const [i, name] of chosen.entries()) {
      showStatus(`Measuring ${name}, ${i + 1} of ${chosen.length} …`);
      const result = await measureOne(name, inputs, count, signal).catch((error) => ({ error }));
      if (signal.aborted) return showStatus('Stopped.');
      measured.set(name, result);
      show();
    }
    const failed = [...measured].flatMap(([name, { error }]) => (error ? [name] : []));
    showStatus(`Measured${failed.length ? `; not possible here: ${failed.join(', ')}` : ''}.`);
  }

  /**
   * @param {Backend} backend
   * @param {import('../model.js').Inputs} inputs
   * @param {number} count
   * @param {AbortSignal} signal
   * @returns {Promise<Measured>}
   */
  async function measureOne(backend, inputs, count, signal) {
    const own = backend === model.backend ? model : await load({ backend, signal });
    try {
      const outputs = await own.run(inputs); // the first one takes longer
      const times = [];
      const began = performance.now();
      while (times.length < count && (times.length < LEAST || performance.now() - began < LONGEST)) {
        signal.throwIfAborted();
        const start = performance.now();
        await own.run(inputs);
        times.push(performance.now() - start);
      }
      return { info: own.info(), times, outputs };
    } finally {
      if (own !== model) await own.dispose();
    }
  }

  /**
   * The reference is wasm, or the first that runs here.
   * @param {Backend} name
   * @param {ReadonlyMap<Backend, Measured>} results
   */
  function compared(name, results) {
    const running = /** @type {Backend[]} */ (['wasm', ...names]).filter((one) => results.get(one)?.outputs);
    const [reference = name] = running;
    const [got, want] = [results.get(name)?.outputs, results.get(reference)?.outputs];
    if (!got || !want || name === reference) return '';
    const apart = largestDifference(got, want, model.outputs);
    if (!Number.isFinite(apart)) return `results are other ones than on ${reference}`;
    return `largest difference from ${reference}: ${apart.toPrecision(2)} of the largest value`;
  }

  element('measuring').addEventListener('submit', (event) => {
    event.preventDefault();
    if (life) return life.abort();
    const end = () => {
      life = undefined;
      button.textContent = 'Measure';
    };
    return alone(() => measure().finally(end));
  });
  show();
}

/**
 * @param {Measured} result
 * @param {string} difference
 */
function describe({ error, info, times }, difference) {
  const view = document.createElement('div');
  if (error) {
    view.className = 'error';
    view.append(`${error.name}: ${error.message}`);
  }
  if (times) {
    const { chart, words } = drawHistogram(times);
    view.append(chart, `${words}\n`);
  }
  if (info) view.append(difference && `${difference}\n`, info.backend === 'wasm' ? onProcessor(info) : onDevice(info));
  return view;
}

/** @param {import('../model.js').Info & { backend: 'wasm' }} info */
const onProcessor = ({ variant, threads }) => `${variant} SIMD, ${threads} thread${threads > 1 ? 's' : ''}`;

/** @param {Exclude<import('../model.js').Info, { backend: 'wasm' }>} info */
const onDevice = ({ adapter, software }) => `${adapter}${software ? ', in software' : ''}`;
