// Tokens, or text, as they come, on the bundle's own page, for models that give them.

import { element, showStatus } from './page_elements.js';

/** Options with a field each: its step and the value that it begins with. */
const FIELDS = /** @type {const} */ ({
  maxTokens: { step: '1', value: '100' },
  temperature: { step: '0.05', value: '0.8' },
  topK: { step: '1', value: '0' },
  topP: { step: '0.05', value: '1' },
  seed: { step: '1', value: '0' },
});

/**
 * @param {string} text
 * @param {'submit' | 'button'} type
 */
const buttonOf = (text, type) => Object.assign(document.createElement('button'), { textContent: text, type });

/**
 * A form of a prompt and options, and what the model writes behind it.
 * @param {import('../model.js').Model} model
 * @param {(task: () => Promise<void>) => Promise<void>} alone keeps other tasks of the page away
 */
export function offerGenerating(model, alone) {
  if (!('generate' in model)) return;
  const takesText = model.inputs.some(({ text }) => text);
  const section = Object.assign(document.createElement('section'), { id: 'generating' });
  const form = document.createElement('form');
  const value = takesText ? 'Once upon a time' : '1 2 3';
  const prompt = Object.assign(document.createElement('textarea'), { rows: 3, cols: 60, value, id: 'prompt' });
  const written = Object.assign(document.createElement('output'), { id: 'written' });
  const heading = Object.assign(document.createElement('h2'), { textContent: 'Generate' });
  const label = document.createElement('label');
  label.append(takesText ? 'Prompt ' : 'Prompt, numbers of tokens ', prompt);
  const fields = Object.entries(FIELDS).map(([name, own]) => {
    const input = Object.assign(document.createElement('input'), { type: 'number', min: '0', required: true, ...own });
    const label = document.createElement('label');
    label.append(`${name} `, input);
    return { name, input, label };
  });
  const [start, more, stop] = [buttonOf('Generate', 'submit'), buttonOf('Go on', 'button'), buttonOf('Stop', 'button')];
  stop.name = 'stop';
  form.append(label, ...fields.map(({ label }) => label), start, more, stop);
  section.append(heading, form, written);
  element('model').prepend(section);
  let abort = new AbortController();
  stop.disabled = true;
  more.disabled = true;

  /** @param {boolean} resume */
  const generate = (resume) =>
    alone(async () => {
      abort = new AbortController();
      const numbers = Object.fromEntries(fields.map(({ name, input }) => [name, input.valueAsNumber]));
      const given = resume ? '' : prompt.value;
      const ids = given
        .split(/[\s,]+/)
        .filter(Boolean)
        .map(Number);
      const options = { ...numbers, ...(takesText ? { text: given } : { ids }), resume, signal: abort.signal };
      if (!resume) written.textContent = prompt.value;
      // <chat>
      if (!resume && model.info().messages) {
        Object.assign(options, { text: undefined, messages: [{ role: 'user', content: given }] });
        written.textContent += '\n\n';
      }
      // </chat>
      start.disabled = true;
      more.disabled = true;
      stop.disabled = false;
      showStatus('Generating …');
      let pieces = 0;
      const began = performance.now();
      try {
        for await (const piece of model.generate(options)) {
          written.append(takesText ? String(piece) : ` ${piece}`);
          pieces++;
        }
      } catch (error) {
        if (!abort.signal.aborted) throw error;
      } finally {
        start.disabled = false;
        stop.disabled = true;
        more.disabled = false;
      }
      const rate = (1000 * pieces) / (performance.now() - began);
      showStatus(
        `Done, on ${model.backend}: ${pieces} ${takesText ? 'pieces' : 'tokens'}, ${rate.toFixed(1)} a second.`,
      );
    });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    return generate(false);
  });
  more.addEventListener('click', () => generate(true));
  stop.addEventListener('click', () => abort.abort());
}
