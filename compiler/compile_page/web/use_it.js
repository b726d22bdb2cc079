// How the bundle is used in another page, and had by the command line.

import { element, onPress } from './elements.js';
import { shellWord } from './escape.js';
import { size, some } from './format.js';
import { saveFile } from './save_file.js';

/** @typedef {import('./run_model.js').Loaded} Loaded */
/** @typedef {import('./types.js').CompiledModel} CompiledModel */
/** @typedef {import('./compile_form.js').Choice} Choice */

/** @param {(error: unknown) => void} fail */
export function createUseIt(fail) {
  const section = element('use', HTMLElement);
  /** @type {CompiledModel | undefined} */
  let compiled;
  onPress(element('download', HTMLButtonElement), async () => {
    if (!compiled) return;
    try {
      saveFile(`${compiled.name}.zip`, await compiled.zip());
    } catch (error) {
      fail(error);
    }
  });
  for (const id of ['code', 'command']) {
    const button = element(`copy-${id}`, HTMLButtonElement);
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(element(id, HTMLElement).textContent ?? '');
        button.textContent = 'Copied';
      } catch {
        getSelection()?.selectAllChildren(element(id, HTMLElement)); // no permission: by Ctrl-C then
        button.textContent = 'Selected';
      }
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 2000);
    });
  }

  return {
    /**
     * @param {CompiledModel} of
     * @param {{ file: string, choice: Choice, records: string }} facts
     */
    show(of, { file, choice, records }) {
      compiled = of;
      section.hidden = false;
      element('bundle-size', HTMLElement).textContent =
        `${some(of.files.size, 'file')}, ${size(of.report.bundleBytes)}`;
      element('code', HTMLElement).textContent = of.code;
      element('command', HTMLElement).textContent = commandFor(file, choice, records);
    },
    hide() {
      compiled = undefined;
      section.hidden = true;
    },
  };
}

/**
 * The command, after those that write formats of the model's own.
 * @param {string} file
 * @param {Choice} choice
 * @param {string} records
 */
function commandFor(file, choice, records) {
  const { shapes, dims, pictures, sounds, answers, labels, targets, precision, weights, fastMath } = choice;
  const { states, given, stateWindow, generate, limits } = choice;
  /** @type {string[]} */
  const lines = [];
  /** @type {(option: string, formats: Record<string, import('./types.js').Format>) => string[]} */
  const formatted = (option, formats) =>
    Object.entries(formats).flatMap(([name, format]) => {
      if (typeof format === 'string') return [option, `${name}=${format}`];
      const own = `format-${lines.length + 1}.json`;
      lines.push(`echo ${shellWord(JSON.stringify(format))} > ${own}`);
      return [option, `${name}=${own}`];
    });
  const parts = [
    'webnn-compile',
    file,
    ...['--out', 'bundle/', '--host', 'js', '--targets', targets.join(',')],
    ...Object.entries(shapes).flatMap(([name, shape]) => ['--shape', `${name}=${shapeText(shape)}`]),
    ...Object.entries(dims).flatMap(([name, dim]) => ['--dim', `${name}=${dimText(dim)}`]),
    ...(states?.length === 0 ? ['none'] : (states ?? [])).flatMap((pair) => ['--state', pair]),
    ...given.flatMap((name) => ['--given', name]),
    ...(stateWindow === undefined ? [] : ['--state-window', String(stateWindow)]),
    ...(generate === false ? [] : ['--generate', generate === true ? '' : generate]),
    ...formatted('--picture', pictures),
    ...formatted('--sound', sounds),
    ...answers.flatMap((answer) => ['--answer', answer]),
    ...(labels ? ['--labels', labels.name] : []),
    ...(precision === 'f16' ? ['--precision', 'f16'] : []),
    ...(weights ? ['--weights', weights] : []),
    ...(fastMath ? [] : ['--fast-math', 'off']),
    ...(limits.maxSeconds === undefined ? [] : ['--max-seconds', String(limits.maxSeconds)]),
    ...(limits.compileMemory === undefined ? [] : ['--compile-memory', String(limits.compileMemory)]),
    ...(records ? ['--records', 'records.jsonl'] : []),
  ];
  return [...lines, parts.map(shellWord).join(' ')].join('\n');
}

/** @param {readonly (number | string)[]} shape */
const shapeText = (shape) => shape.join(shape.some((extent) => /x/.test(String(extent))) ? ',' : 'x');

/** @param {import('./types.js').Dim} dim */
function dimText(dim) {
  if (typeof dim === 'number') return String(dim);
  const [least, most, multiple] = dim;
  return `${least}..${most}${multiple === undefined ? '' : `,multiple=${multiple}`}`;
}
