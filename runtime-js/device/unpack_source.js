// Shaders as the bundle has them: compiler/bundle/pack_source.py says how.

/**
 * @param {string} text
 * @returns {string} with the names of temporaries
 */
export function unpackSource(text) {
  /** @type {Record<string, number>} */
  const counts = {};
  return text.replace(/\$([a-z])(\d*)/g, (_, letter, back) => {
    const count = counts[letter] ?? 0;
    if (!back) counts[letter] = count + 1;
    return `t${letter}${back ? count - back : count + 1}`;
  });
}
