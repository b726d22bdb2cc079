// Which kernel of a GPU is wrong on the page's inputs, in words.

/** @typedef {import('../model.js').KernelCheck} KernelCheck */

const SHOWN = 4; // names of nodes

/**
 * A button that checks, behind the one of the self-test.
 * @param {Element} place
 * @param {() => void} start
 */
function offer(place, start) {
  const button = Object.assign(document.createElement('button'), {
    type: 'button',
    id: 'check',
    textContent: 'Check kernels',
  });
  button.addEventListener('click', start);
  const paragraph = document.createElement('p');
  paragraph.append(
    'Or compares each kernel of a GPU with WebAssembly, on the inputs above, which takes much longer than a run:\n',
    button,
  );
  place.after(paragraph);
}

/**
 * @param {import('../model.js').Model} model
 * @param {import('../model.js').Inputs} inputs
 * @param {AbortSignal} signal
 */
const check = async (model, inputs, signal) => summarise(await model.check(inputs, { signal }));

/**
 * @param {KernelCheck} found
 * @returns {{ passed: boolean, words: string }}
 * @throws {Error} where nothing was compared
 */
export function summarise({ compared, launches, skipped, largest, wrong, outputs }) {
  const [first, ...others] = wrong;
  const [output] = outputs;
  const left = skipped.length ? `; ${skipped.length} could not be compared` : '';
  if (first) {
    const more = others.length ? `; ${count(others.length, 'more kernel')} behind it` : '';
    return { passed: false, words: `kernel ${first.kernel} is WRONG, ${nodesOf(first)}: ${by(first)}${more}${left}` };
  }
  const right = `${count(compared, 'kernel')} right in ${count(launches, 'launch', 'launches')}`;
  const none = `no kernel could be compared, of ${skipped.length}`;
  if (output) {
    const kernels = compared ? `${right}, each by itself, so the fault lies between launches${left}` : none;
    return { passed: false, words: `output ${output.name} is WRONG: ${by(output)}; ${kernels}` };
  }
  if (!compared) throw new Error(none);
  return { passed: true, words: `${right}: largest difference ${largest.toPrecision(2)} of the largest value${left}` };
}

/** @type {(difference: { apart: number, allowed: number }) => string} */
const by = ({ apart, allowed }) => `it differs by ${apart.toPrecision(2)}, ${allowed.toPrecision(2)} allowed`;

/** @type {(kernel: { nodes: string[] }) => string} */
const nodesOf = ({ nodes }) =>
  nodes.length
    ? `which computes ${nodes.slice(0, SHOWN).join(', ')}${nodes.length > SHOWN ? ', …' : ''}`
    : 'of no node';

const count = (/** @type {number} */ n, /** @type {string} */ one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

export const kernelCheck = { offer, check };
