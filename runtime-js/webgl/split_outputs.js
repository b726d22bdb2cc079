// Devices that draw into fewer layers at once than a shader writes run it once for each few of them: what leads to the
// others alone is dead code then, and its compiler drops it.

/**
 * @typedef {object} Part
 * @property {string} source
 * @property {number} first layer that it writes
 * @property {number} count of layers
 */

/**
 * @param {string} source a fragment shader with the outputs o0, o1, ... at locations 0, 1, ...
 * @param {number} count of outputs
 * @param {number} most outputs of one draw
 * @returns {Part[]}
 */
export function splitOutputs(source, count, most) {
  const parts = [];
  for (let first = 0; first < count; first += most) {
    const end = Math.min(count, first + most);
    const text = source.replace(/^layout\(location = (\d+)\) out (\w+ o\1;)$/gm, (_, location, variable) => {
      const at = Number(location) - first;
      return at >= 0 && at < most ? `layout(location = ${at}) out ${variable}` : variable;
    });
    parts.push({ source: count > most ? text : source, first, count: end - first });
  }
  return parts;
}
