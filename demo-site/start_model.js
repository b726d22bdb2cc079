// A model of the site: loads it, shows how far that is, and what it runs on.

import { element, showFacts, size } from './view.js';

/** @typedef {import('../runtime-js/model.js').Model} Model */

/**
 * @param {string} folder of the bundle
 * @returns {Promise<typeof import('../runtime-js/model.js')>}
 */
export const importBundle = (folder) => import(`./${folder}/model.js`);

/**
 * @param {string} folder
 * @returns {Promise<Model>} one that has run, so that the first picture is as fast as later ones
 */
export async function startModel(folder) {
  const { load } = await importBundle(folder);
  const model = await load({ onProgress: showProgress, warmup: true });
  document.body.dataset.state = 'ready';
  showStatus('');
  showModel(model.info());
  return model;
}

/**
 * @param {import('../runtime-js/model.js').Info} info
 * @param {number} [milliseconds] of the newest answer
 */
export function showModel(info, milliseconds) {
  const { backend, weightBytes, memoryBytes } = info;
  showFacts(element('facts', HTMLElement), {
    ...(milliseconds === undefined ? {} : { 'this answer': `${milliseconds.toFixed(1)} ms` }),
    backend: `${backend}, ${'variant' in info ? info.variant : info.adapter}`,
    weights: size(weightBytes),
    memory: size(memoryBytes),
  });
}

/** @param {import('../runtime-js/model.js').Progress} progress */
export function showProgress({ phase, loaded, total }) {
  if (phase === 'ready') showStatus('Starting the model');
  else if (phase === 'compile') showStatus(`Compiling the shaders: ${loaded} of ${total}`);
  else showStatus(`Loading the ${phase}: ${size(loaded)} of ${size(total)}`);
}

/** @param {string} text */
export function showStatus(text) {
  element('status', HTMLElement).textContent = text;
}

/** @param {unknown} error */
export function fail(error) {
  document.body.dataset.state = 'error';
  showStatus(error instanceof Error ? error.message : String(error));
}
