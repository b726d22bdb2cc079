// Text on the bundle's own page, for models that take it.

/** @typedef {import('../model.js').TensorInfo} TensorInfo */

/**
 * A field of text.
 * @param {readonly TensorInfo[]} inputs
 * @param {Element} place the field's
 * @returns {(() => { text?: string | string[], without: string[] }) | undefined} what is in it, and the inputs that it fills; nothing
 *   where it is empty; undefined for a model that takes none
 */
export function askText(inputs, place) {
  const filled = inputs.filter(({ text }) => text);
  if (!filled.length) return undefined;
  const shape = filled.find(({ text }) => text === 'ids')?.shape ?? [];
  const single = shape.length < 2 || shape[0] === 1;
  const field = Object.assign(document.createElement('textarea'), { rows: 2, cols: 50, value: 'A sentence.' });
  const label = document.createElement('label');
  label.append(single ? 'text ' : 'texts, one on each line ', field);
  place.append(label);
  return () => {
    const text = field.value;
    if (!text) return { without: [] };
    const without = filled.map(({ name }) => name);
    return { text: single ? text : text.split('\n').filter(Boolean), without };
  };
}
