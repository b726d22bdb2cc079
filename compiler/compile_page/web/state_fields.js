// What outlives a run of the model, and whether its runs give tokens.

import { element, numberIn } from './elements.js';

/** Names, or pairs of them, with spaces between. */
const words = (/** @type {HTMLInputElement} */ { value }) => value.split(/\s+/).filter(Boolean);

export function createStateFields() {
  const states = element('states', HTMLInputElement);
  const given = element('given', HTMLInputElement);
  const rows = element('state-window', HTMLInputElement);
  const generate = element('generate', HTMLInputElement);
  const settings = element('generate-settings', HTMLInputElement);

  return {
    /** They were those of another model. */
    clear() {
      for (const field of [states, given, rows, settings]) field.value = '';
      generate.checked = false;
    },
    /** @returns {{ states?: string[], given: string[], stateWindow?: number, generate: boolean | string }} */
    options() {
      const pairs = words(states);
      const none = pairs.length === 1 && pairs[0] === 'none';
      return {
        ...(pairs.length && { states: none ? [] : pairs }),
        given: words(given),
        stateWindow: numberIn(rows),
        generate: generate.checked && (settings.value.trim() || true),
      };
    },
  };
}
