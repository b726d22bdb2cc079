// Where pictures come from: chosen, dropped, pasted, or frames of the camera, one after the other.

import { fail, showStatus } from './start_model.js';

const CHOOSE = 'Choose a picture';
const START = 'Start the camera';

/**
 * @param {HTMLElement} section gets the controls
 * @param {(picture: ImageBitmap, live: boolean) => Promise<void>} use one at a time; `live`: a frame of the camera
 * @param {'user' | 'environment'} [camera] the one to take where there are several; without it there is no button
 */
export function createPictureSource(section, use, camera) {
  const chooser = Object.assign(document.createElement('input'), { type: 'file', accept: 'image/*' });
  const label = Object.assign(document.createElement('label'), { className: 'button', textContent: CHOOSE });
  label.append(chooser);
  const button = Object.assign(document.createElement('button'), { type: 'button', textContent: START });
  const hint = Object.assign(document.createElement('p'), {
    textContent: 'Or drop or paste one. It stays in this page.',
  });
  const samples = Object.assign(document.createElement('div'), { className: 'samples' });
  section.append(label, ...(camera ? [button] : []), hint, samples);

  /** @type {Promise<unknown>} */
  let turn = Promise.resolve();
  /** @type {MediaStream | undefined} */
  let stream;
  let starts = 0; // counts, so that a camera that comes after it was stopped is not used

  /**
   * @param {ImageBitmapSource} source
   * @param {boolean} live
   */
  const take = (source, live) => {
    turn = turn.then(async () => {
      const picture = await createImageBitmap(source).catch(() => undefined);
      if (!picture)
        throw new Error(`The browser cannot read ${nameOf(source)} as a picture: choose a JPEG, PNG or WebP.`);
      try {
        await use(picture, live);
        document.body.dataset.state = 'ready';
        showStatus('');
      } finally {
        picture.close();
      }
    });
    const taken = turn;
    turn = turn.catch(fail);
    return taken;
  };

  /** @param {Blob | undefined} file */
  const takeFile = (file) => {
    if (!file) return;
    stop();
    take(file, false).catch(() => {}); // `turn` has shown it
  };

  function stop() {
    starts++;
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = undefined;
    button.textContent = START;
  }

  async function start() {
    const mine = ++starts;
    if (!navigator.mediaDevices) throw new Error('The browser gives no camera: is the page on https or localhost?');
    const opened = await navigator.mediaDevices
      .getUserMedia({ video: { facingMode: camera ?? 'user' } })
      .catch((error) => {
        throw new Error(
          `No camera: ${error.message}. Allow it for this page in the browser's settings, or choose a picture.`,
        );
      });
    if (mine !== starts) {
      for (const track of opened.getTracks()) track.stop();
      return;
    }
    stream = opened;
    button.textContent = 'Stop the camera';
    const video = Object.assign(document.createElement('video'), { muted: true, playsInline: true, srcObject: opened });
    await video.play();
    while (mine === starts) {
      await take(video, true);
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  }

  showSamples(samples, takeFile).catch(fail);
  chooser.addEventListener('change', () => takeFile(chooser.files?.[0]));
  button.addEventListener('click', () => {
    if (stream) stop();
    else
      start().catch((error) => {
        stop();
        fail(error);
      });
  });
  addEventListener('dragover', (event) => {
    if (event.dataTransfer?.types.includes('Files')) event.preventDefault(); // or the browser would open the file
  });
  addEventListener('drop', (event) => {
    event.preventDefault();
    takeFile(event.dataTransfer?.files[0]);
  });
  addEventListener('paste', (event) => takeFile(event.clipboardData?.files[0]));
}

/**
 * A button for each picture that the site has.
 *
 * @param {HTMLElement} place
 * @param {(file: Blob) => void} take
 */
async function showSamples(place, take) {
  const response = await fetch('site.json');
  /** @type {{ samples: string[] }} */
  const { samples } = await response.json();
  place.append(
    ...samples.map((name, i) => {
      const button = Object.assign(document.createElement('button'), { type: 'button' });
      const address = name.split('/').map(encodeURIComponent).join('/');
      button.append(Object.assign(new Image(), { src: address, alt: `Sample ${i + 1}` }));
      button.addEventListener('click', () => {
        fetch(address)
          .then((answer) => answer.blob())
          .then(take)
          .catch(fail);
      });
      return button;
    }),
  );
}

/** @param {ImageBitmapSource} source */
const nameOf = (source) => (source instanceof File ? source.name : 'what it got');
