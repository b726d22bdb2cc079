// Each backend of the bundle: whether this browser has it, how long runs take, and how far results lie apart.
import { largestDifference } from '../values/compare_results.js';
import { drawHistogram } from './draw_histogram.js';
import { element, showStatus, showTable } from './page_elements.js';
import * as parts from './page_parts.js';

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
 * @property {{ passed: boolean, words: string }} [tested]
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
  const test = /** @type {HTMLButtonElement} */ (element('self-test'));
  element('testing').hidden = !section.dataset.golden;
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

  /**
   * Does something with the model on each backend that is chosen.
   * @param {string} doing
   * @param {string} what passes or fails, before these words; empty where it measures
   * @param {(model: Model, signal: AbortSignal) => Promise<Measured>} use
   */
  async function onBackends(doing, what, use) {
    life = new AbortController();
    const { signal } = life;
    button.textContent = 'Stop';
    test.disabled = true;
    const chosen = names.filter((name) => !which.value || name === which.value);
    measured.clear();
    for (const [i, name] of chosen.entries()) {
      showStatus(`${doing} ${name}, ${i + 1} of ${chosen.length} …`);
      const result = await onBackend(name, signal, use).catch((error) => ({ error }));
      if (signal.aborted) return showStatus('Stopped.');
      measured.set(name, result);
      show();
    }
    const results = [...measured];
    const failed = results.flatMap(([name, { error }]) => (error ? [name] : []));
    const wrong = results.flatMap(([name, { tested }]) => (tested && !tested.passed ? [name] : [])).join(', ');
    const absent = failed.length ? `; not possible here: ${failed.join(', ')}` : '';
    if (!results.some(([, { times, tested }]) => times ?? tested))
      return showStatus(`Nothing was ${what ? 'tested' : 'measured'}${absent}.`, true);
    showStatus(`${what}${wrong ? `failed on ${wrong}` : what ? 'passed' : 'Measured'}${absent}.`, !!wrong);
  }

  /**
   * @param {Backend} backend
   * @param {AbortSignal} signal
   * @param {(model: Model, signal: AbortSignal) => Promise<Measured>} use
   */
  async function onBackend(backend, signal, use) {
    const own = backend === model.backend ? model : await load({ backend, signal });
    try {
      return { info: own.info(), ...(await use(own, signal)) };
    } finally {
      if (own !== model) await own.dispose();
    }
  }

  async function measure() {
    const count = Math.max(LEAST, /** @type {HTMLInputElement} */ (element('repeats')).valueAsNumber || 1);
    await model.reset?.();
    const inputs = makeInputs();
    return onBackends('Measuring', '', async (own, signal) => {
      await own.reset?.();
      const outputs = await own.run(inputs); // the first one takes longer
      const times = [];
      const began = performance.now();
      while (times.length < count && (times.length < LEAST || performance.now() - began < LONGEST)) {
        signal.throwIfAborted();
        await own.reset?.(); // else runs would not be alike
        const start = performance.now();
        await own.run(inputs);
        times.push(performance.now() - start);
      }
      return { times, outputs };
    });
  }

  async function testAll() {
    const run = await parts.selfTest(section.dataset.golden ?? '');
    await onBackends('Testing', 'The self-test ', async (own) => ({ tested: await run(own) }));
  }

  // <check>
  async function checkAll() {
    const inputs = makeInputs();
    await onBackends('Checking kernels of', 'The check of kernels ', async (own, signal) =>
      // Where it is chosen, the error says why not.
      own.backend === 'wasm' && !which.value ? {} : { tested: await parts.kernelCheck.check(own, inputs, signal) },
    );
  }
  // </check>

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

  const end = () => {
    life = undefined;
    button.textContent = 'Measure';
    test.disabled = false;
  };
  element('measuring').addEventListener('submit', (event) => {
    event.preventDefault();
    if (life) return life.abort();
    return alone(() => measure().finally(end));
  });
  // <check>
  parts.kernelCheck.offer(element('testing'), () => alone(() => checkAll().finally(end)));
  // </check>
  test.addEventListener('click', () => alone(() => testAll().finally(end)));
  show();
}

/**
 * @param {Measured} result
 * @param {string} difference
 */
function describe({ error, info, times, tested }, difference) {
  const view = document.createElement('div');
  if (error) {
    view.className = 'error';
    view.append(`${error.name}: ${error.message}`);
  }
  if (times) {
    const { chart, words } = drawHistogram(times);
    view.append(chart, `${words}\n`);
  }
  if (tested) {
    const { passed, words } = tested;
    view.append(
      Object.assign(document.createElement('strong'), { className: passed ? '' : 'error', textContent: words }),
      '\n',
    );
  }
  if (info) view.append(difference && `${difference}\n`, info.backend === 'wasm' ? onProcessor(info) : onDevice(info));
  return view;
}

/** @param {import('../model.js').Info & { backend: 'wasm' }} info */
const onProcessor = ({ variant, threads }) => `${variant} SIMD, ${threads} thread${threads > 1 ? 's' : ''}`;

/** @param {Exclude<import('../model.js').Info, { backend: 'wasm' }>} info */
const onDevice = ({ adapter, software }) => `${adapter}${software ? ', in software' : ''}`;
