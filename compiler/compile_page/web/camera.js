// The camera: a button starts and stops it; between that, one run follows the other.

import { element } from './elements.js';
import { milliseconds } from './format.js';

/**
 * @param {(video: HTMLVideoElement) => Promise<void>} useFrame
 * @param {(error: unknown) => void} fail
 */
export function createCamera(useFrame, fail) {
  const button = element('camera', HTMLButtonElement);
  const video = element('video', HTMLVideoElement);
  const time = element('camera-time', HTMLOutputElement);
  /** @type {MediaStream | undefined} */
  let stream;
  let starts = 0; // counts, so that a camera that comes after 'stop' is not used

  function stop() {
    starts++;
    for (const track of stream?.getTracks() ?? []) track.stop();
    stream = undefined;
    video.srcObject = null;
    video.hidden = true;
    button.textContent = 'Start the camera';
  }

  async function start() {
    const mine = ++starts;
    if (!navigator.mediaDevices) throw new Error('the browser has no camera: is the page on https or localhost?');
    const opened = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' } });
    stream = opened;
    if (mine !== starts) return stop();
    button.textContent = 'Stop the camera';
    video.srcObject = opened;
    video.hidden = false;
    await video.play();
    /** @type {number[]} */
    let times = [];
    while (mine === starts) {
      const began = performance.now();
      await useFrame(video);
      await new Promise((resolve) => requestAnimationFrame(resolve));
      times = [...times.slice(-19), performance.now() - began];
      if (mine === starts) time.textContent = `${milliseconds(median(times))} per frame`;
    }
  }

  button.addEventListener('click', () => {
    if (stream) stop();
    else {
      time.textContent = '';
      start().catch((error) => {
        stop();
        fail(error);
      });
    }
  });
  return { stop };
}

/** @param {readonly number[]} times */
export const median = (times) => [...times].sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN;
