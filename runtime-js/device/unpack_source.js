// Shaders as the bundle has them: compiler/bundle/pack_source.py says how.

/** @type {[RegExp, string][]} short forms of phrases */
const SHORT = [
  [/@(\d+)\(/g, 'texelFetch(p$1,ivec3('],
  [/@([A-Z])/g, 'let $$$1'],
  [/[;{}](?=\S)/g, '$&\n'],
];

/**
 * @param {string} text
 * @returns {string} with the names of variables, and offsets
 */
export function unpackSource(text) {
  /** @type {Record<string, string[]>} by letters, the one used last first */
  const recent = {};
  /** @type {Record<string, number>} by parameters */
  const offsets = {};
  let parameter = '';
  const whole = SHORT.reduce((shorter, [short, phrase]) => shorter.replace(short, phrase), text);
  return whole.replace(/\b[bp]\d+|\$(?:(-?\d+)|(\w)(\d*))/g, (name, difference, letter, place) => {
    if (difference) {
      offsets[parameter] = (offsets[parameter] ?? 0) + Number(difference);
      return `${offsets[parameter]}`;
    }
    if (!letter) {
      parameter = name;
      return name;
    }
    recent[letter] ??= [];
    const [found = letter + recent[letter].length] = place ? recent[letter].splice(place, 1) : [];
    recent[letter].unshift(found);
    return found;
  });
}
