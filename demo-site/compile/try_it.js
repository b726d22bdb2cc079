// What the model is run with: a picture, the camera, or tensors.

import { element } from './elements.js';
import { pictureInput } from './picture.js';
import { createPicturePanel } from './picture_panel.js';
import { createTensorPanel } from './tensor_panel.js';

/** @typedef {import('./tensor_values.js').TensorInfo} TensorInfo */
/** @typedef {Record<string, import('./tensor_values.js').TypedArray>} Inputs */
/** @typedef {{ values: Inputs, what: string }} Given `what` says what the values are */

/**
 * @param {(quietly: boolean) => Promise<void>} run with what `inputs` then gives; `quietly` for frames of the camera
 * @param {(error: unknown) => void} fail
 */
export function createTryIt(run, fail) {
  const section = element('try', HTMLElement);
  const choice = element('how', HTMLElement);
  const radios = /** @type {const} */ (['picture', 'camera', 'tensors']).map((how) =>
    element(`how-${how}`, HTMLInputElement),
  );
  const runLoudly = () => void run(false);
  const pictures = createPicturePanel({ run: () => run(true), runFile: runLoudly, fail });
  const tensors = createTensorPanel(runLoudly, fail);
  /** @type {import('./picture.js').PictureInput | undefined} */
  let picture;
  /** @type {'picture' | 'camera' | 'tensors'} */
  let how = 'tensors';

  /** @param {'picture' | 'camera' | 'tensors'} wanted */
  function choose(wanted) {
    how = picture ? wanted : 'tensors';
    for (const radio of radios) radio.checked = radio.value === how;
    if (how !== 'camera') pictures.stopCamera();
    const panel = element('picture-panel', HTMLElement);
    panel.hidden = how === 'tensors';
    if (picture && how !== 'tensors') pictures.show(how, picture);
    tensors.leaveOut(how === 'tensors' ? undefined : picture?.name);
  }
  for (const radio of radios) radio.addEventListener('change', () => choose(/** @type {typeof how} */ (radio.value)));

  return {
    /** @param {readonly TensorInfo[]} inputs */
    show(inputs) {
      const before = picture;
      picture = pictureInput(inputs);
      section.hidden = false;
      choice.hidden = !picture;
      tensors.show(inputs);
      choose(before ? how : 'picture');
    },
    hide() {
      section.hidden = true;
      pictures.stopCamera();
    },
    /** Gives up all that was chosen for a model. */
    clear() {
      section.hidden = true;
      picture = undefined;
      how = 'tensors';
      pictures.clear();
      tensors.clear();
    },
    /** @returns {Given} random values where no picture is there yet */
    inputs() {
      const pixels = how !== 'tensors' ? pictures.tensor() : undefined;
      if (!picture || !pixels)
        return { values: tensors.values(), what: how === 'tensors' ? 'tensors' : 'random values' };
      return { values: { ...tensors.values(picture.name), [picture.name]: pixels }, what: how };
    },
    /** @param {File} file */
    async givePicture(file) {
      if (!picture) throw new Error(`${file.name}: no input of the model takes a picture`);
      choose('picture');
      await pictures.give(file);
    },
    /** @param {File} file */
    async giveTensor(file) {
      choose('tensors');
      await tensors.give(file);
    },
  };
}
