// Labels of classes, as they come with models: a label on each line, JSON, or a literal of Python's.

/**
 * @param {File} file
 * @returns {Promise<string[]>} by number of the class
 */
export async function readLabels(file) {
  const text = (await file.text()).replace(/^\ufeff/, '').trimEnd();
  /** @type {unknown} */
  let parsed;
  try {
    parsed = /^\s*[[{]/.test(text) ? parseLiteral(text) : undefined;
  } catch (error) {
    // A list of words may begin with [PAD].
    if (/\.json$/i.test(file.name)) throw new Error(`${file.name} is no JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (parsed === undefined && !/\.json$/i.test(file.name)) return text.split(/\r?\n/);
  if (typeof parsed !== 'object' || parsed === null) throw new Error(`${file.name} has no list of labels`);
  // {"0": ["n01440764", "tench"]}, as Keras has it: the last part is the one to read.
  /** @type {string[]} */
  const labels = [];
  for (const [index, label] of Object.entries(parsed)) {
    const at = Number(index);
    if (!Number.isInteger(at)) throw new Error(`${file.name}: ${JSON.stringify(index)} is no number of a class`);
    labels[at] = String(Array.isArray(label) ? label.at(-1) : label);
  }
  return labels;
}

const STRING = /[ubr]?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")/;
const TOKENS = new RegExp(`${STRING.source}|(-?\\d+)(?=\\s*:)|(,)(?=\\s*[\\]})])|([()])`, 'gs');

/**
 * JSON, or a literal of Python's: {0: 'tench', 1: "hen's egg",} -> {"0": "tench", "1": "hen's egg"}.
 * @param {string} text
 * @returns {unknown}
 */
function parseLiteral(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    const json = text.replace(TOKENS, (token, string, key, comma, bracket) => {
      if (string) return JSON.stringify(withoutEscapes(string.slice(1, -1)));
      if (key) return `"${key}"`;
      if (bracket) return bracket === '(' ? '[' : ']';
      return comma ? '' : token;
    });
    try {
      return JSON.parse(json);
    } catch {
      throw error;
    }
  }
}

/** @type {Record<string, string>} */
const ESCAPES = { n: '\n', t: '\t', r: '\r' };

/** @param {string} text of a string in quotes */
const withoutEscapes = (text) =>
  text.replace(/\\(?:x([\da-f]{2})|u([\da-f]{4})|(.))/gis, (_, byte, unit, letter) =>
    letter === undefined ? String.fromCharCode(Number.parseInt(byte ?? unit, 16)) : (ESCAPES[letter] ?? letter),
  );
