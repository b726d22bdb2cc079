// A picture or the camera as input: chosen, shown, handed to the model as it is.

import { createCamera } from './camera.js';
import { element } from './elements.js';

const SHOWN = 320; // pixels of the longer side

/**
 * @param {object} does
 * @param {() => Promise<void>} does.run with the picture that is there now
 * @param {() => void} does.runFile the same, for a picture that someone just gave
 * @param {(error: unknown) => void} does.fail
 */
export function createPicturePanel({ run, runFile, fail }) {
  const canvas = element('picture-seen', HTMLCanvasElement);
  /** @type {ImageBitmap | undefined} of a file */
  let chosen;
  /** @type {ImageBitmap | undefined} of the camera */
  let frame;
  /** @type {'picture' | 'camera'} */
  let from = 'picture';

  const camera = createCamera(async (video) => {
    if (!video.videoWidth) return;
    frame?.close();
    frame = await createImageBitmap(video);
    await run();
  }, fail);

  /** @param {File} file */
  async function load(file) {
    const decoded = await createImageBitmap(file, { premultiplyAlpha: 'premultiply' }).catch(() => {
      throw new Error(`${file.name} is no picture that this browser can read`);
    });
    chosen?.close();
    chosen = decoded;
    draw(chosen);
    runFile();
  }

  /** @param {ImageBitmap} picture */
  function draw(picture) {
    const scale = Math.min(1, SHOWN / Math.max(picture.width, picture.height));
    const size = [picture.width, picture.height].map((n) => Math.max(1, Math.round(n * scale)));
    const [width = 1, height = 1] = size;
    Object.assign(canvas, { width, height });
    canvas.getContext('2d')?.drawImage(picture, 0, 0, width, height);
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
    /** @param {'picture' | 'camera'} how */
    show(how) {
      from = how;
      if (how === 'picture') camera.stop();
      element('picture-choice', HTMLElement).hidden = how !== 'picture';
      element('camera-choice', HTMLElement).hidden = how !== 'camera';
      canvas.hidden = how !== 'picture' || !chosen;
    },
    /** Runs with the picture that is there, if one is. */
    again: () => (from === 'picture' ? chosen : frame) && runFile(),
    /** @returns {ImageBitmap | undefined} undefined where there is no picture yet */
    picture() {
      canvas.hidden = from !== 'picture' || !chosen;
      return from === 'picture' ? chosen : frame;
    },
    clear() {
      camera.stop();
      chosen?.close();
      frame?.close();
      chosen = frame = undefined;
      canvas.hidden = true;
    },
  };
}
