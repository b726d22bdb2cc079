// The compiled model on this device: on a backend that can be chosen, with what it says of itself.

import { element, make, say, showFacts } from './elements.js';
import { backendName, count, messageOf, milliseconds, size } from './format.js';

/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('./types.js').Target} Target */
/**
 * @typedef {object} Loaded
 * @property {Model} model
 * @property {import('./types.js').CompiledModel} compiled
 * @property {readonly Target[]} targets
 * @property {AbortController} life aborted when the model is dropped
 */

/** @param {(backend: 'auto' | Target) => void} choose */
export function createModelView(choose) {
  const section = element('model', HTMLElement);
  const select = element('backend', HTMLSelectElement);
  const problem = element('backend-problem', HTMLElement);
  const list = element('model-facts', HTMLElement);
  /** @type {Record<string, string>} */
  let facts = {};
  select.addEventListener('change', () => choose(/** @type {'auto' | Target} */ (select.value)));

  return {
    /**
     * @param {readonly Target[]} targets
     * @param {boolean} another it is another model, without a chosen backend
     * @returns {'auto' | Target}
     */
    prepare(targets, another) {
      const before = targets.find((target) => target === select.value);
      section.hidden = false;
      section.dataset.backend = '';
      select.replaceChildren(
        make('option', { value: 'auto', textContent: 'automatic' }),
        ...targets.map((target) => make('option', { value: target, textContent: backendName(target) })),
      );
      const chosen = before && !another ? before : 'auto';
      select.value = chosen;
      say(problem, '');
      list.replaceChildren();
      return chosen;
    },
    begin() {
      section.dataset.backend = '';
      say(problem, '');
      list.replaceChildren();
    },
    /**
     * @param {Model} model
     * @param {number} ms that loading took
     * @param {boolean} keeps something between runs
     */
    show(model, ms, keeps) {
      const info = model.info();
      section.dataset.backend = info.backend;
      facts = {
        backend: backendName(info.backend),
        adapter: 'adapter' in info ? info.adapter : '',
        hardware:
          'software' in info ? (info.software ? 'no: a software adapter, many times slower than a GPU' : 'yes') : '',
        memory: size(info.memoryBytes),
        weights: size(info.weightBytes),
        precision: info.precision,
        kernels: count(info.kernels),
        start: `${milliseconds(ms)}, with a run to warm up`,
        states: keeps ? 'kept between runs; here each run begins anew' : '',
      };
      showFacts(list, facts);
      say(problem, info.passedOver.map(({ backend, reason }) => `${backendName(backend)}: ${reason}`).join('\n'));
    },
    /** @param {number} ms */
    showFirstRun(ms) {
      facts = { ...facts, 'first run': milliseconds(ms) };
      showFacts(list, facts);
    },
    /** @param {unknown} error */
    fail(error) {
      const backend = select.value === 'auto' ? 'No backend' : backendName(select.value);
      say(problem, `${backend} could not start: ${messageOf(error)}`);
    },
    hide() {
      section.hidden = true;
      section.dataset.backend = '';
      list.replaceChildren();
    },
  };
}
