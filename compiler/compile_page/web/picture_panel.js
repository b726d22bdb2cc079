// A picture or the camera as input: chosen, drawn as the model gets it, turned into numbers.

import { createCamera } from './camera.js';
import { element } from './elements.js';
import { drawPicture, pixelsToTensor } from './picture.js';
import { createPixelOptions } from './pixel_options.js';

/** @typedef {{ source: CanvasImageSource, width: number, height: number }} Source */

/**
 * @param {object} does
 * @param {() => Promise<void>} does.run with the picture that is there now
 * @param {() => void} does.runFile the same, for a picture that someone just gave or whose options changed
 * @param {(error: unknown) => void} does.fail
 */
export function createPicturePanel({ run, runFile, fail }) {
  const canvas = element('picture-seen', HTMLCanvasElement);
  const figure = element('picture-figure', HTMLElement);
  /** @type {ImageBitmap | undefined} */
  let bitmap;
  /** @type {Source | undefined} */
  let source;
  /** @type {import('./picture.js').PictureInput | undefined} */
  let input;
  const options = createPixelOptions(() => source && runFile());

  const camera = createCamera(async (video) => {
    source = { source: video, width: video.videoWidth, height: video.videoHeight };
    if (source.width) await run();
  }, fail);

  /** @param {File} file */
  async function load(file) {
    const decoded = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.name} is no picture that this browser can read`);
    });
    bitmap?.close();
    bitmap = decoded;
    source = { source: bitmap, width: bitmap.width, height: bitmap.height };
    runFile();
  }

  const chooser = element('picture-file', HTMLInputElement);
  chooser.addEventListener('change', () => {
    const file = chooser.files?.[0];
    chooser.value = '';
    if (file) load(file).catch(fail);
  });

  return {
    load,
    stopCamera: camera.stop,
    /**
     * @param {'picture' | 'camera'} how
     * @param {import('./picture.js').PictureInput} picture
     */
    show(how, picture) {
      input = picture;
      if (how === 'picture') {
        camera.stop();
        source = bitmap && { source: bitmap, width: bitmap.width, height: bitmap.height };
      } else if (source?.source === bitmap) source = undefined;
      options.setChannels(picture.channels);
      element('picture-choice', HTMLElement).hidden = how !== 'picture';
      element('camera-choice', HTMLElement).hidden = how !== 'camera';
      figure.hidden = !source;
    },
    /** Runs with the picture that is there, if one is. */
    again: () => source && runFile(),
    /** @returns {Float32Array | undefined} undefined where there is no picture yet */
    tensor() {
      if (!source || !input) return undefined;
      figure.hidden = false;
      return pixelsToTensor(drawPicture(canvas, source.source, source, input, options.fit()), input, options.pixels());
    },
    clear() {
      camera.stop();
      bitmap?.close();
      bitmap = source = input = undefined;
      figure.hidden = true;
    },
  };
}
