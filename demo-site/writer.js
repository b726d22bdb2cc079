// Write on: a decoder goes on with a text, character by character, from wherever the cursor is. Of the text before it only
// what the model's states do not hold yet is computed.

import { fail, importBundle, showModel, showProgress, showStatus } from './start_model.js';
import { element } from './view.js';

/** @typedef {import('../runtime-js/model.js').Model} Model */
/** @typedef {import('../runtime-js/model.js').Backend} Backend */

const FOLDER = 'models/writer';
/** So many of the last characters the model keeps in view where a text is too long for its states. */
const KEPT = 128;

const text = element('text', HTMLTextAreaElement);
const temperature = element('temperature', HTMLInputElement);
const [seed, most] = [element('seed', HTMLInputElement), element('most', HTMLInputElement)];
const [writeButton, stopButton] = [element('write', HTMLButtonElement), element('stop', HTMLButtonElement)];
const backends = element('backend', HTMLSelectElement);

/** @type {Model | undefined} */
let model;
/** Characters of the text, by their tokens, that the model was given: those from `begin` on, the oldest first. */
let [begin, given] = [0, /** @type {number[]} */ ([])];
let ending = new AbortController();

const response = await fetch('writer.json');
if (!response.ok) throw new Error(`writer.json did not arrive: the server answered ${response.status}`);
/** @type {{ characters: string, backends: Backend[] }} */
const { characters, backends: names } = await response.json();
for (const name of /** @type {const} */ (['auto', ...names])) backends.add(new Option(name));
text.setSelectionRange(text.value.length, text.value.length);
temperature.addEventListener('input', () => {
  element('degree', HTMLOutputElement).value = temperature.value;
});
backends.addEventListener('change', () => start().catch(failToStart));
writeButton.addEventListener('click', () => write().catch(fail));
stopButton.addEventListener('click', () => ending.abort());
await start().catch(failToStart);

async function start() {
  setState('loading');
  const { load } = await importBundle(FOLDER);
  await model?.dispose();
  model = undefined;
  const backend = /** @type {'auto' | Backend} */ (backends.value);
  model = await load({ backend, onProgress: showProgress, warmup: true });
  [begin, given] = [0, []];
  setState('ready');
  showStatus('');
  showModel(model.info());
}

/** @param {unknown} error after which another backend may be chosen */
function failToStart(error) {
  fail(error);
  backends.disabled = false;
}

/** Writes behind the cursor; what was there is dropped. */
async function write() {
  const before = text.value.slice(0, text.selectionEnd);
  const unknown = [...before].find((character) => !characters.includes(character));
  if (unknown) return showStatus(`The model knows no ${unknown}: leave it out`);
  if (!before) return showStatus('Give it a beginning');
  showStatus('');
  text.value = before;
  setState('writing');
  ending = new AbortController();
  const began = performance.now();
  let written = 0;
  const limit = Math.min(most.valueAsNumber || 1, Number(most.max));
  try {
    while (written < limit) {
      for await (const token of tokensBehind(text.value, limit - written)) {
        text.value += characters[token];
        text.scrollTop = text.scrollHeight;
        written++;
        if (written % 20 === 0) showSpeed(written, performance.now() - began);
      }
    }
  } catch (error) {
    if (!ending.signal.aborted) throw error;
  } finally {
    showSpeed(written, performance.now() - began);
    text.setSelectionRange(text.value.length, text.value.length);
    setState('ready');
  }
}

/**
 * At most so many tokens behind a text, and fewer where the states are full.
 * @param {string} before
 * @param {number} maxTokens
 */
async function* tokensBehind(before, maxTokens) {
  if (!model) return;
  const ids = Array.from(before, (character) => characters.indexOf(character));
  const kept = await keepOf(ids, model);
  const options = {
    ids: ids.slice(begin + kept),
    resume: kept > 0,
    maxTokens,
    temperature: temperature.valueAsNumber,
    seed: seed.valueAsNumber >>> 0,
    signal: ending.signal,
  };
  try {
    for await (const token of model.generate(options)) {
      given.push(token);
      yield token;
    }
  } catch (error) {
    if (/** @type {{ code?: string }} */ (error).code !== 'state-full') throw error;
    given = []; // what follows begins anew, behind fewer characters
  }
}

/**
 * Drops from the states what is not at the beginning of a text; its last character is given again.
 * @param {number[]} ids
 * @param {Model} model
 * @returns {Promise<number>} so many characters from `begin` on are in the states
 */
async function keepOf(ids, model) {
  const room = roomOf(model);
  const view = ids.slice(begin);
  const end = view.findIndex((id, i) => id !== given[i]);
  let kept = Math.max(0, Math.min(end < 0 ? view.length : end, view.length - 1, model.position));
  if (view.length > room) kept = 0;
  if (kept) await model.rewind(model.position - kept);
  else begin = ids.length > room ? ids.length - KEPT : 0;
  given = ids.slice(begin);
  return kept;
}

/**
 * The characters that the states have room for.
 * @param {Model} model
 */
const roomOf = ({ dimensions }) =>
  Math.min(
    ...dimensions.flatMap(({ after, most, limit = most }) => (after === undefined ? [] : [Math.min(most, limit)])),
  );

/**
 * @param {number} written
 * @param {number} milliseconds
 */
function showSpeed(written, milliseconds) {
  if (!model) return;
  showModel(model.info());
  const facts = element('facts', HTMLElement);
  const speed = `${Math.round((written / milliseconds) * 1000)} in a second`;
  facts.prepend(
    Object.assign(document.createElement('dt'), { textContent: 'characters' }),
    Object.assign(document.createElement('dd'), { textContent: speed }),
  );
}

/** @param {'loading' | 'ready' | 'writing'} state */
function setState(state) {
  document.body.dataset.state = state;
  writeButton.disabled = state !== 'ready';
  stopButton.disabled = state !== 'writing';
  backends.disabled = state !== 'ready';
  text.readOnly = state === 'writing';
}
