// Devices that draw into fewer layers at once than a shader writes run it once for each few of them: outputs of the others
// are variables, so what leads to these alone is dead code, and the driver's compiler drops it.

/**
 * @typedef {object} Part
 * @property {string} source
 * @property {number} first layer that it writes
 * @property {number} count of layers
 */

/**
 * The whole shaders of a kernel.
 * @param {Pick<import('../device/device_program.js').FragmentKernel, 'source' | 'declarations' | 'grid' | 'scalars'>} kernel
 * @param {number} most outputs of one draw
 * @returns {Part[]}
 */
export function splitOutputs({ source, declarations: { samplers, output }, grid: [, , layers], scalars = 0 }, most) {
  const head = ['#version 300 es', 'precision highp float;', 'precision highp int;'];
  for (const sampler of [...new Set(samplers)].sort()) head.push(`precision highp ${sampler};`);
  samplers.forEach((sampler, i) => {
    head.push(`uniform ${sampler} p${i};`);
  });
  for (let i = 0; i < scalars; i++) head.push(`uniform int s${i};`);
  const parts = [];
  for (let first = 0; first < layers; first += most) {
    const end = Math.min(layers, first + most);
    const lines = [...head];
    for (let i = 0; i < layers; i++)
      lines.push(`${i >= first && i < end ? `layout(location = ${i - first}) out ` : ''}${output} o${i};`);
    parts.push({ source: [...lines, source].join('\n'), first, count: end - first });
  }
  return parts;
}
