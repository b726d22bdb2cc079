// The files of a model, as a page has them.

import { CompileError } from './compile_error.js';

/** @typedef {import('./types.js').Source} Source */
/** @typedef {[string, Blob | Uint8Array][]} Files */

/** The size limit of all files. Python holds a model's constants several times over, in at most 4 GiB. */
const MOST_BYTES = 2 ** 30;
/** Ends of the names of models; other files that a model consists of have other ones. */
const SUFFIXES = ['.onnx', '.tflite', '.keras', '.h5', '.hdf5', '.pb', '.mlmodel', '.prototxt', '-symbol.json'];
/** The names of models, in words. */
export const MODELS =
  '*.onnx with its external data, *.tflite, *.keras, *.h5, *.pb, *.mlmodel, *.prototxt with its *.caffemodel, ' +
  '*-symbol.json with its *.params, or model.json with its shards';

/** Whether a file of this name is the model among several. */
export const isModel = (/** @type {string} */ name) =>
  SUFFIXES.some((suffix) => name.toLowerCase().endsWith(suffix)) || /(^|\/)model\.json$/i.test(name);

/**
 * The files, none of them read, and which of them is the model.
 * @param {Source} source
 * @returns {{ model: string, files: Files }}
 */
export function readSource(source) {
  const files = listFiles(source);
  for (const [name] of files) {
    if (!name || name.startsWith('/') || name.split('/').includes('..'))
      throw new CompileError(
        'input',
        `${JSON.stringify(name)} cannot be the name of a model's file; give its name alone`,
      );
  }
  const names = files.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new CompileError('input', `two files are named ${twice}; rename one of them`);
  const bytes = files.reduce((sum, [, content]) => sum + sizeOf(content), 0);
  if (bytes > MOST_BYTES) {
    throw new CompileError(
      'input',
      `${names.join(', ')}: ${(bytes / 2 ** 30).toFixed(1)} GiB is more than a page can compile ` +
        '(1 GiB); use the command line: pip install webnn-compile',
    );
  }
  const models = files.length === 1 ? files : files.filter(([name]) => isModel(name));
  const [model] = models;
  if (!model || models.length > 1) {
    const given = names.join(', ') || 'nothing';
    throw new CompileError('input', `one file named ${MODELS}, is a model, not ${given}`);
  }
  return { model: model[0], files };
}

/**
 * @param {Source} source
 * @returns {Files}
 */
function listFiles(source) {
  if (source instanceof File) return [[source.name, source]];
  if (isContent(source)) return [['model.onnx', bytesOf(source)]];
  const several = /** @type {any} */ (source);
  const isList = Array.isArray(several) || several instanceof FileList;
  if (isList && Array.from(several).every((file) => file instanceof File))
    return Array.from(several, (file) => [file.name, file]);
  const plain =
    typeof several === 'object' &&
    several !== null &&
    [Object.prototype, null].includes(Object.getPrototypeOf(several));
  if (!isList && plain && Object.values(several).every(isContent))
    return Object.entries(several).map(([name, content]) => [name, bytesOf(content)]);
  throw new CompileError(
    'input',
    'a model is a File, bytes (ArrayBuffer, Uint8Array, Blob), a list of Files, or bytes by name',
  );
}

/** @param {any} value */
const isContent = (value) => value instanceof Blob || value instanceof ArrayBuffer || value instanceof Uint8Array;

/** @param {any} content */
const bytesOf = (content) => (content instanceof ArrayBuffer ? new Uint8Array(content) : content);

/** @param {Blob | Uint8Array} content */
const sizeOf = (content) => (content instanceof Blob ? content.size : content.byteLength);
