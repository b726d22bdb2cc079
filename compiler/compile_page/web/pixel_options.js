// How pixels become numbers, as the form has it.

import { element } from './elements.js';

/** Normalisation of networks that PyTorch trained on ImageNet. */
const IMAGENET = { mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] };
const PLAIN = { mean: [0, 0, 0], deviation: [1, 1, 1] };

/** @param {() => void} changed */
export function createPixelOptions(changed) {
  const details = element('picture-options', HTMLElement);
  const scale = element('scale', HTMLSelectElement);
  const order = element('order', HTMLSelectElement);
  /** @param {string} name */
  const three = (name) => [0, 1, 2].map((c) => element(`${name}-${c}`, HTMLInputElement));
  const fields = { mean: three('mean'), deviation: three('deviation') };
  let usual = IMAGENET;
  let channels = 3;

  /** @param {typeof IMAGENET} values */
  const fill = (values) => {
    for (const name of /** @type {const} */ (['mean', 'deviation']))
      fields[name].forEach((field, c) => {
        field.value = String(values[name][c]);
      });
  };
  /** @param {typeof IMAGENET} values */
  const has = (values) =>
    /** @type {const} */ (['mean', 'deviation']).every((name) =>
      fields[name].every((field, c) => Number(field.value) === values[name][c]),
    );

  scale.addEventListener('change', () => {
    // Means for 0 to 1 make no sense with 0 to 255: numbers that were not typed change along.
    if (scale.value === '255' && has(usual)) fill(PLAIN);
    else if (scale.value === '1' && has(PLAIN)) fill(usual);
  });
  details.addEventListener('change', changed);
  fill(usual);

  return {
    /** @param {number} number of the input's channels */
    setChannels(number) {
      if (channels !== number) {
        usual = number === 3 ? IMAGENET : PLAIN;
        fill(scale.value === '1' ? usual : PLAIN);
        order.value = 'rgb';
      }
      channels = number;
      for (const field of [...fields.mean.slice(1), ...fields.deviation.slice(1)]) field.hidden = number === 1;
      element('order-line', HTMLElement).hidden = number === 1;
    },
    /** @returns {import('./picture.js').PixelOptions} */
    pixels: () => ({
      mean: fields.mean.map((field) => Number(field.value)),
      deviation: fields.deviation.map((field) => Number(field.value) || 1),
      scale: Number(scale.value),
      reversed: order.value === 'bgr',
    }),
    fit: () => element('fit', HTMLSelectElement).value,
  };
}
