// The model that runs: loaded, run, compared, profiled. There is one at a time.

import { clearComparison, compareBackends } from './compare.js';
import { element, onPress } from './elements.js';
import { backendName } from './format.js';
import { inTurn } from './in_turn.js';
import { setState, showBytes, showProblem, showStatus } from './page_status.js';
import { clearProfile, profileKernels } from './profile_view.js';
import { createModelView } from './run_model.js';
import { createResults } from './show_results.js';
import { createTryIt } from './try_it.js';

/** @typedef {import('./run_model.js').Loaded} Loaded */
/** @typedef {import('./types.js').CompiledModel} CompiledModel */
/** @typedef {import('./types.js').Target} Target */

export function createWorkbench() {
  const measure = element('measure', HTMLElement);
  /** @type {Loaded | undefined} */
  let loaded;
  /** Lifetime of the model that is loaded or being loaded. @type {AbortController | undefined} */
  let life;
  /** @type {{ compiled: CompiledModel, targets: readonly Target[] } | undefined} */
  let bundle;
  let ready = '';
  let another = true;
  /** @type {number | undefined} */
  let lastRun;
  /** A run that has not begun: it takes what is chosen when it does. @type {Promise<void> | undefined} */
  let next;

  const results = createResults();
  const tryIt = createTryIt(run, showProblem);
  const view = createModelView((backend) => start(backend));

  function stop() {
    life?.abort(new DOMException('the model was dropped', 'AbortError'));
    loaded?.model.dispose();
    loaded = life = lastRun = undefined;
  }

  function hide() {
    tryIt.hide();
    results.hide();
    clearProfile();
    clearComparison();
    measure.hidden = true;
  }

  /** @param {'auto' | Target} backend */
  async function start(backend) {
    if (!bundle) return;
    stop();
    showProblem('');
    const { compiled, targets } = bundle;
    const mine = new AbortController();
    life = mine;
    view.begin();
    setState('compiling');
    showStatus('Starting the model', 'some');
    const began = performance.now();
    try {
      const { signal } = mine;
      const model = await compiled.load({
        backend,
        warmup: true,
        signal,
        onProgress: (one) => tellLoading(one, signal),
      });
      if (signal.aborted) return void model.dispose();
      loaded = { model, compiled, targets, life: mine };
      view.show(model, performance.now() - began, compiled.hasStates);
      tryIt.show(model);
      results.prepare(model.outputs, compiled.name);
      clearProfile(); // it was of another backend
      measure.hidden = false;
      setState('running');
      ready = `Running on ${backendName(model.backend)}.`;
      showStatus(ready);
      await run();
    } catch (error) {
      if (mine.signal.aborted) return;
      hide();
      view.fail(error);
      setState('described');
      showStatus('Compiled. It did not start with this backend.');
    }
  }

  /**
   * Does something with the model that is loaded, in its turn. What fails because the model was dropped is no problem.
   * @param {string} name
   * @param {(use: Loaded) => Promise<void>} action
   */
  async function withModel(name, action) {
    const use = loaded;
    if (!use) return;
    try {
      await inTurn(name, async () => {
        if (use === loaded) await action(use);
      });
    } catch (error) {
      if (!use.life.signal.aborted) throw error;
    }
  }

  /** @param {Loaded} use */
  async function runOnce({ model, life: { signal } }) {
    next = undefined;
    const { values, what, picture } = tryIt.inputs();
    await model.reset?.();
    const began = performance.now();
    const outputs = await model.run(values, { signal });
    const ms = performance.now() - began;
    if (lastRun === undefined) view.showFirstRun(ms);
    lastRun = ms;
    results.show(outputs, { ms, what, picture });
  }

  /** @param {boolean} [quietly] the caller handles errors, and nothing is said */
  async function run(quietly = false) {
    next ??= withModel('run', runOnce).finally(() => {
      next = undefined;
    });
    if (quietly) return next;
    showProblem('');
    await next.catch(showProblem);
  }

  /**
   * @param {string} id of a button
   * @param {(use: Loaded) => Promise<void>} action
   */
  const measureBy = (id, action) =>
    onPress(element(id, HTMLButtonElement), async () => {
      showProblem('');
      await withModel(id, action).catch(showProblem);
      if (loaded) showStatus(ready);
    });
  measureBy('compare', (use) => compareBackends(use, tryIt.inputs().values, (text) => showStatus(text, 'some')));
  measureBy('profile', async (use) => {
    showStatus('Measuring each kernel', 'some');
    await profileKernels(use, tryIt.inputs().values, lastRun);
  });

  return {
    tryIt,
    withModel,
    loaded: () => loaded,
    /**
     * @param {CompiledModel} compiled
     * @param {readonly Target[]} targets
     */
    async load(compiled, targets) {
      bundle = { compiled, targets };
      const backend = view.prepare(targets, another);
      another = false;
      await start(backend);
    },
    /** Drops the model; what was chosen to try it with stays. */
    unload() {
      stop();
      bundle = undefined;
      view.hide();
      hide();
    },
    /** Drops everything. */
    clear() {
      this.unload();
      another = true;
      tryIt.clear();
    },
  };
}

/**
 * @param {import('../../../runtime-js/model.js').Progress} progress
 * @param {AbortSignal} signal
 */
function tellLoading({ phase, loaded, total }, signal) {
  if (signal.aborted || phase === 'ready') return;
  if (phase === 'compile') showStatus(`The browser compiles kernels: ${loaded} of ${total}`, loaded / (total || 1));
  else showBytes(`Loading the ${phase}`, { loaded, total });
}
