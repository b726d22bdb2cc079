// Labels by which the kernels of a profile differ.

const MOST = 2; // nodes that are named

/**
 * The name of each kernel, with the nodes that it covers where others have the same name.
 * @param {readonly { name: string, nodes: readonly string[] }[]} kernels
 * @returns {string[]}
 */
export function labelKernels(kernels) {
  /** @type {Map<string, number>} */
  const times = new Map();
  for (const { name } of kernels) times.set(name, (times.get(name) ?? 0) + 1);
  return kernels.map(({ name, nodes }) => {
    if (times.get(name) === 1 || !nodes.length) return name;
    return `${name}: ${nodes.slice(0, MOST).join(', ')}${nodes.length > MOST ? ', ...' : ''}`;
  });
}
