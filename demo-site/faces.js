// Faces: boxes over a picture, or over the camera's frames.

import { createPictureSource } from './picture_source.js';
import { fail, showModel, startModel } from './start_model.js';
import { element, paintPicture } from './view.js';

/** @typedef {import('../runtime-js/model.js').Detection} Detection */

const result = element('result', HTMLOutputElement);
const canvas = element('picture', HTMLCanvasElement);

startModel('models/faces').then(use).catch(fail);

/** @param {import('./start_model.js').Model} model */
function use(model) {
  const input = model.inputs[0]?.name ?? '';
  const output = model.outputs.find((one) => 'answer' in one)?.name ?? '';
  createPictureSource(
    element('source', HTMLElement),
    async (picture) => {
      result.ariaBusy = 'true';
      const began = performance.now();
      const answer = /** @type {unknown} */ ((await model.run({ [input]: picture }))[output]);
      const milliseconds = performance.now() - began;
      const faces = /** @type {Detection[]} */ (answer);
      paintBoxes(paintPicture(canvas, picture), faces);
      const text = faces.length === 1 ? '1 face' : `${faces.length || 'no'} faces`;
      if (result.textContent !== text) result.textContent = text;
      result.ariaBusy = 'false';
      showModel(model.info(), milliseconds);
    },
    'user',
  );
}

/**
 * Light on dark lines, to be seen on any picture.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {readonly Detection[]} faces
 */
function paintBoxes(context, faces) {
  const width = Math.max(context.canvas.width, context.canvas.height) / 200;
  for (const [strokeStyle, lineWidth] of /** @type {const} */ ([
    ['#10131c', 2 * width],
    ['#7df3a5', width],
  ])) {
    Object.assign(context, { strokeStyle, lineWidth, lineJoin: 'round' });
    for (const { box } of faces) context.strokeRect(box.x, box.y, box.width, box.height);
  }
}
