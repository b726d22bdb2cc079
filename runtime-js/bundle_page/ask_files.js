// Files of pictures and sounds on the bundle's own page, for models that take them.

/** @typedef {import('../model.js').TensorInfo} TensorInfo */

/**
 * Kind of the file that fills an input, if one does.
 * @param {Pick<TensorInfo, 'picture' | 'sound'>} input
 */
const kindOf = ({ picture, sound }) => (picture ? 'a picture' : sound ? 'a sound' : undefined);

/**
 * A field of a file for each input that pictures or sounds fill.
 * @param {readonly TensorInfo[]} inputs
 * @param {Element} place the fields'
 * @param {(error: Error) => void} fail
 * @param {typeof import('./record_sound.js').recordSound} [record]
 * @returns {() => Record<string, File>} those that were chosen
 */
function ask(inputs, place, fail, record) {
  const fields = inputs.flatMap((input) => {
    const { name, sound } = input;
    const kind = kindOf(input);
    if (!kind) return [];
    const accept = sound ? 'audio/*' : 'image/*';
    const field = Object.assign(document.createElement('input'), { type: 'file', accept });
    const label = document.createElement('label');
    label.append(`${name}: ${kind} `, field);
    place.append(label, ...(sound && record ? [record(field, name, fail)] : []));
    return [/** @type {const} */ ([name, field])];
  });
  return () => Object.fromEntries(fields.flatMap(([name, { files }]) => (files?.[0] ? [[name, files[0]]] : [])));
}

export const fileInputs = { ask, kindOf };
