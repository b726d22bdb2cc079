// What the files are that someone dropped, chose or pasted.
import { isModel } from './read_source.js';

/**
 * @typedef {object} Sorted
 * @property {File[]} model the model's own file and all that may be external data of it
 * @property {File[]} more what may be external data of a model that is there already
 * @property {File | undefined} picture
 * @property {File | undefined} labels
 * @property {File | undefined} tensor
 */

/**
 * With a model among them all are the model's: names of external data are free.
 * @param {readonly File[]} files
 * @returns {Sorted}
 */
export function sortFiles(files) {
  const model = files.some(({ name }) => isModel(name)) ? [...files] : [];
  const others = model.length ? [] : [...files];
  /** @param {(file: File) => boolean} isOne */
  const take = (isOne) => {
    const at = others.findIndex(isOne);
    return at < 0 ? undefined : others.splice(at, 1)[0];
  };
  return {
    picture: take(({ type }) => type.startsWith('image/')),
    labels: take(({ name }) => /\.(txt|json)$/i.test(name)),
    tensor: take(({ name }) => /\.npy$/i.test(name)),
    model,
    more: others,
  };
}
