// How the bundle is used in another page, and had by the command line.

import { element, onPress } from './elements.js';
import { commentText, literal, shellWord } from './escape.js';
import { size, some } from './format.js';
import { inputsAt, largest, rangeText } from './run_sizes.js';
import { saveFile } from './save_file.js';
import { constructorOf, lengthOf } from './tensor_values.js';

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
      element('code', HTMLElement).textContent = codeFor(of);
      element('command', HTMLElement).textContent = commandFor(file, choice, records);
    },
    hide() {
      compiled = undefined;
      section.hidden = true;
    },
  };
}

/** @param {CompiledModel} compiled */
function codeFor(compiled) {
  const { name, dimensions } = compiled;
  const arrays = inputsAt(compiled, largest(dimensions)).map(({ name, dtype, shape }, i) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name);
    const array = dtype === 'float16' ? 'Float16Array' : constructorOf(dtype).name;
    const data = `new ${array}(${lengthOf(shape)})`;
    const fixed = compiled.inputs[i]?.shape.every((extent) => typeof extent === 'number');
    return `${key}: ${fixed ? data : `{ data: ${data}, shape: [${shape.join(', ')}] }`}`;
  });
  const one = `{ ${arrays.join(', ')} }`;
  const values = one.length <= 60 ? one : `{\n${arrays.map((array) => `  ${array},\n`).join('')}}`;
  return [
    `import { load } from './${encodeURIComponent(name).replaceAll("'", '%27')}/model.js';`,
    'const model = await load();',
    ...dimensions.map((dimension) => `// ${commentText(`${dimension.name}: ${rangeText(dimension)}`)}`),
    `const outputs = await model.run(${arrays.length ? values : '{}'});`,
  ].join('\n');
}

/**
 * @param {string} file
 * @param {Choice} choice
 * @param {string} records
 */
function commandFor(file, { shapes, dims, targets, precision, weights, fastMath }, records) {
  const parts = [
    'webnn-compile',
    file,
    ...['--out', 'bundle/', '--host', 'js', '--targets', targets.join(',')],
    ...Object.entries(shapes).flatMap(([name, shape]) => ['--shape', `${name}=${shapeText(shape)}`]),
    ...Object.entries(dims).flatMap(([name, dim]) => ['--dim', `${name}=${dimText(dim)}`]),
    ...(precision === 'f16' ? ['--precision', 'f16'] : []),
    ...(weights ? ['--weights', weights] : []),
    ...(fastMath ? [] : ['--fast-math', 'off']),
    ...(records ? ['--records', 'records.jsonl'] : []),
  ];
  return parts.map(shellWord).join(' ');
}

/** @param {readonly (number | string)[]} shape */
const shapeText = (shape) => shape.join(shape.some((extent) => /x/.test(String(extent))) ? ',' : 'x');

/** @param {import('./types.js').Dim} dim */
function dimText(dim) {
  if (typeof dim === 'number') return String(dim);
  const [least, most, multiple] = dim;
  return `${least}..${most}${multiple === undefined ? '' : `,multiple=${multiple}`}`;
}
