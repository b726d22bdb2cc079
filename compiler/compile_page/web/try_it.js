// What the model is run with: a picture, the camera, or tensors, of sizes that can be chosen.

import { element } from './elements.js';
import { valuesFor } from './npy.js';
import { pictureInput } from './picture.js';
import { createPicturePanel } from './picture_panel.js';
import { createRunSizes, inputsAt, sizesFor } from './run_sizes.js';
import { createTensorPanel } from './tensor_panel.js';

/** @typedef {import('../../../runtime-js/model.js').Model} Model */
/** @typedef {import('../../../runtime-js/model.js').Shaped<import('./tensor_values.js').TypedArray>} Shaped */
/** @typedef {Record<string, Shaped>} Inputs */
/** @typedef {{ values: Inputs, what: string }} Given `what` says what the values are */

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
  /** @type {import('./picture.js').PictureInput | undefined} */
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
    if (picture && how !== 'tensors') pictures.show(how, picture);
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
      picture = pictureInput(inputs);
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
    /** @param {Model} next */
    show(next) {
      const another = signatureOf(model) !== signatureOf(next);
      const before = picture;
      model = next;
      section.hidden = false;
      if (another) sizes.show(next.dimensions);
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
      const pixels = how !== 'tensors' ? pictures.tensor() : undefined;
      if (!picture || !pixels)
        return { values: tensors.values(), what: how === 'tensors' ? 'tensors' : 'random values' };
      const { name, shape } = picture;
      return { values: { ...tensors.values(name), [name]: { data: pixels, shape } }, what: how };
    },
    /** @param {File} file */
    async loadPicture(file) {
      if (!picture) throw new Error(`${file.name}: no input of the model takes a picture`);
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
