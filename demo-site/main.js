// Draw a digit: loads the compiled model, runs it as one draws, shows its ten probabilities.
import { load } from './bundle/model.js';
import { countInk, enlarge } from './ink.js';
import { createPad } from './pad.js';
import { fail, showModel, showProgress, showStatus } from './start_model.js';
import { createBars, element, paintImage, percent } from './view.js';

/** @typedef {Float32Array<ArrayBuffer>} Image 32 x 32, 0 (paper) to 1 (ink) */

const result = element('result', HTMLOutputElement);
const seen = element('seen', HTMLCanvasElement);
const showBars = createBars(element('bars', HTMLElement), [...'0123456789']);

/** @type {Awaited<ReturnType<typeof load>> | undefined} */
let model;
/** @type {Image | undefined} the newest image; older ones that still wait are dropped */
let pending;
let running = false;

const pad = createPad(element('pad', HTMLCanvasElement), (strokes) => {
  document.body.classList.toggle('drawn', strokes.length > 0);
  if (strokes.length > 0) show(enlarge(countInk(strokes)));
  else clear();
});
element('clear', HTMLButtonElement).addEventListener('click', () => pad.clear());

await Promise.all([start(), showSamples(), showCompiler()]).catch(fail);

async function start() {
  model = await load({ onProgress: showProgress });
  // The first run is the slowest: the browser still compiles. Let it happen before someone waits for it.
  await model.run({ image: new Float32Array(32 * 32) });
  document.body.dataset.state = 'ready';
  showStatus('');
  showModel(model.info());
  await runPending();
}

/** A link to the page that compiles models, where it was built. On the whole site it is among the others. */
async function showCompiler() {
  if (document.querySelector('nav a')) return;
  const response = await fetch('compile/files.json').catch(() => undefined);
  element('compile', HTMLElement).hidden = !response?.ok;
}

/** @param {Image} image */
function show(image) {
  paintImage(seen, image);
  pending = image;
  result.ariaBusy = 'true';
  runPending().catch(fail);
}

function clear() {
  pending = undefined;
  paintImage(seen, new Float32Array(32 * 32));
  showBars([]);
  result.textContent = '';
}

async function runPending() {
  if (!model || running) return;
  running = true;
  try {
    while (pending) {
      const image = pending;
      const began = performance.now();
      const { logits } = await model.run({ image });
      const milliseconds = performance.now() - began;
      if (!pending) return; // cleared meanwhile
      if (pending === image) pending = undefined;
      report(softmax(logits));
      showModel(model.info(), milliseconds);
    }
  } finally {
    running = false;
    result.ariaBusy = 'false';
  }
}

/** @param {number[]} probabilities */
function report(probabilities) {
  const best = probabilities.indexOf(Math.max(...probabilities));
  result.textContent = `${best} (${percent(probabilities[best] ?? 0)})`;
  showBars(probabilities);
}

/** @param {ArrayLike<number>} logits */
function softmax(logits) {
  const values = Array.from(logits);
  const highest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - highest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

async function showSamples() {
  const response = await fetch('samples.json');
  if (!response.ok) throw new Error(`samples.json did not arrive: the server answered ${response.status}`);
  /** @type {{ samples: { label: number, pixels: number[] }[] }} */
  const { samples } = await response.json();
  element('samples', HTMLElement).append(
    ...samples.map(({ label, pixels }) => {
      const image = Float32Array.from(pixels, (value) => value / 255);
      const button = Object.assign(document.createElement('button'), {
        type: 'button',
        ariaLabel: `A handwritten ${label}`,
      });
      button.dataset.label = String(label);
      const canvas = Object.assign(document.createElement('canvas'), { width: 32, height: 32 });
      button.append(canvas);
      const paint = () => paintImage(canvas, image);
      requestAnimationFrame(paint); // once the button is in the page and has its colour
      matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paint);
      button.addEventListener('click', () => {
        pad.clear();
        show(image);
      });
      return button;
    }),
  );
}
