// What the page says of itself: its state, what it does, how far that is, what went wrong.

import { element, say } from './elements.js';
import { messageOf, size } from './format.js';

/** @typedef {'loading' | 'ready' | 'described' | 'compiling' | 'running' | 'error'} State */

const status = element('status', HTMLElement);
const bar = element('progress', HTMLProgressElement);
const problem = element('problem', HTMLElement);
const notice = element('notice', HTMLElement);

/** @param {State} state */
export function setState(state) {
  document.body.dataset.state = state;
}

/**
 * @param {string} text
 * @param {number | 'some'} [share] of what is being done; 'some' where that is not known; none where nothing is done
 */
export function showStatus(text, share) {
  status.textContent = text;
  bar.hidden = share === undefined;
  if (typeof share === 'number') bar.value = share;
  else bar.removeAttribute('value');
}

/**
 * @param {string} what
 * @param {{ loaded?: number, total?: number }} progress in bytes
 */
export function showBytes(what, { loaded = 0, total = 0 }) {
  if (total) showStatus(`${what}: ${size(loaded)} of ${size(total)}`, Math.min(1, loaded / total));
  else showStatus(loaded ? `${what}: ${size(loaded)}` : what, 'some');
}

/** @param {unknown} error '' for none */
export const showProblem = (error) => say(problem, messageOf(error));

/** @param {string} text '' for none */
export const showNotice = (text) => say(notice, text);
