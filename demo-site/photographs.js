// Photographs: the five likeliest classes of a picture.

import { createPictureSource } from './picture_source.js';
import { fail, showModel, startModel } from './start_model.js';
import { createBars, element, paintPicture, percent } from './view.js';

const result = element('result', HTMLOutputElement);
const canvas = element('picture', HTMLCanvasElement);
const showBars = createBars(element('bars', HTMLElement), Array(5).fill(''));

startModel('models/classify').then(use).catch(fail);

/** @param {import('./start_model.js').Model} model */
function use(model) {
  const [input, output] = [model.inputs[0]?.name ?? '', model.outputs[0]?.name ?? ''];
  createPictureSource(
    element('source', HTMLElement),
    async (picture, live) => {
      result.ariaBusy = 'true';
      const began = performance.now();
      const answer = /** @type {unknown} */ ((await model.run({ [input]: picture }))[output]);
      const milliseconds = performance.now() - began;
      const classes = /** @type {import('../runtime-js/model.js').Class[]} */ (answer);
      paintPicture(canvas, picture);
      showBars(
        classes.map(({ score }) => score),
        classes.map(({ label }) => label),
      );
      const [best] = classes;
      // A screen reader says it again with each change: of the camera's frames the class alone.
      const text = best ? `${best.label}${live ? '' : ` (${percent(best.score)})`}` : '';
      if (result.textContent !== text) result.textContent = text;
      result.ariaBusy = 'false';
      showModel(model.info(), milliseconds);
    },
    'environment',
  );
}
