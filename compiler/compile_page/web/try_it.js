// What the model is run with: a picture, the camera, or tensors, of sizes that can be chosen.

import { element } from './elements.js';
import { valuesFor } from './npy.js';
import { createPicturePanel } from './picture_panel.js';
import { atBeginning, createRunSizes, inputsAt, sizesFor } from './run_sizes.js';
import { createTensorPanel } from './tensor_panel.js';

/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('../../../runtime-js/model.js').Shaped<import('./tensor_values.js').TypedArray>} Shaped */
/** @typedef {Record<string, Shaped | ImageBitmap | File>} Inputs */
/** @typedef {{ values: Inputs, what: string, picture?: ImageBitmap }} Given `what` says what the values are */

/**
 * @param {(quietly: boolean) => Promise<void>} run with what `inputs` then returns; `quietly` for frames of the camera
 * @param {(error: unknown) => void} fail with '' where there is no problem any more
 */
export function createTryIt(run, fail) {
  const section = element('try', HTMLElement);
  const choice = element('how', HTMLElement);
  const radios = /** @type {const} */ (['picture', 'camera', 'tensors']).map((how) =>
    element(`how-${how}`, HTMLInputElement),
  );
  const runLoudly = () => void run(false);
  const pictures = createPicturePanel({ run: () => run(true), runFile: runLoudly, fail });
  const tensors = createTensorPanel(runLoudly, fail, takeSizes);
  const sizes = createRunSizes(() => {
    fail('');
    showInputs();
    if (how !== 'tensors') pictures.again();
  });
  /** @type {Pick<Model, 'inputs' | 'dimensions' | 'inputShapes'> | undefined} */
  let model;
  /** The one input that takes a picture. @type {import('./tensor_values.js').TensorInfo | undefined} */
  let picture;
  /** @type {'picture' | 'camera' | 'tensors'} */
  let how = 'tensors';

  /** @param {'picture' | 'camera' | 'tensors'} kind */
  function choose(kind) {
    how = picture ? kind : 'tensors';
    for (const radio of radios) radio.checked = radio.value === how;
    if (how !== 'camera') pictures.stopCamera();
    const panel = element('picture-panel', HTMLElement);
    panel.hidden = how === 'tensors';
    if (how !== 'tensors') pictures.show(how);
    tensors.leaveOut(how === 'tensors' ? undefined : picture?.name);
  }
  for (const radio of radios) radio.addEventListener('change', () => choose(/** @type {typeof how} */ (radio.value)));

  /** The inputs of the sizes that are chosen. @throws {RangeError} */
  const inputsNow = () => (model ? inputsAt(model, sizes.values()) : []);

  /**
   * @param {boolean} [another] the model is another one than before
   * @param {typeof how} [kind]
   */
  function showInputs(another = false, kind = how) {
    try {
      const inputs = inputsNow();
      const fit = inputs.filter((input) => input.picture !== undefined);
      picture = fit.length === 1 ? fit[0] : undefined;
      choice.hidden = !picture;
      tensors.show(inputs, another);
      choose(kind);
    } catch (error) {
      fail(error);
    }
  }

  /**
   * @param {string} input
   * @param {import('./npy.js').Contents} contents
   * @throws {Error} where there are no such sizes
   */
  function takeSizes(input, contents) {
    if (!model?.dimensions.length) return;
    const chosen = sizesFor(model, input, contents.shape, sizes.values());
    for (const tensor of inputsAt(model, chosen)) if (tensor.name === input) valuesFor(tensor, contents);
    sizes.set(chosen);
    showInputs();
  }

  return {
    /** @param {Model} loaded */
    show(loaded) {
      const next = atBeginning(loaded);
      const another = signatureOf(model) !== signatureOf(next);
      const before = picture;
      model = next;
      section.hidden = false;
      if (another) sizes.show(next);
      showInputs(another, before ? how : 'picture');
    },
    hide() {
      section.hidden = true;
      pictures.stopCamera();
    },
    /** Drops all that was chosen for a model. */
    clear() {
      section.hidden = true;
      model = picture = undefined;
      how = 'tensors';
      pictures.clear();
      tensors.clear();
    },
    /** @returns {Given} random values where no picture is there yet */
    inputs() {
      inputsNow();
      const given = how !== 'tensors' ? pictures.picture() : undefined;
      if (!picture || !given)
        return { values: tensors.values(), what: how === 'tensors' ? 'tensors' : 'random values' };
      return { values: { ...tensors.values(picture.name), [picture.name]: given }, what: how, picture: given };
    },
    takesPicture: () => picture !== undefined,
    /** @param {File} file */
    async loadPicture(file) {
      choose('picture');
      await pictures.load(file);
    },
    /** @param {File} file */
    async loadTensor(file) {
      choose('tensors');
      await tensors.load(file);
    },
  };
}

/** @param {Pick<Model, 'inputs' | 'dimensions'> | undefined} model */
const signatureOf = (model) => JSON.stringify(model && [model.inputs, model.dimensions]);
