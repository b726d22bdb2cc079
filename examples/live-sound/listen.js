// Live sound: a recurrent model hears the microphone, or a test signal, chunk by chunk.

import { connect } from './connect.js';
import { HOP, NAMES, RATE } from './settings.js';
import { renderSignal } from './signal.js';

const status = /** @type {HTMLElement} */ (document.getElementById('status'));
const facts = /** @type {HTMLElement} */ (document.getElementById('facts'));
const history = /** @type {HTMLCanvasElement} */ (document.getElementById('history'));
const stopButton = /** @type {HTMLButtonElement} */ (document.getElementById('stop'));
const rows = NAMES.map((name) => createRow(name));
const worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
let end = () => {};

worker.onerror = ({ message }) => fail(new Error(message || 'the worker did not start'));
worker.onmessage = ({ data }) => {
  if (data.scores) show(data);
  else setState('ready', 'Nothing leaves this page');
};
for (const [id, open] of Object.entries({ microphone: openMicrophone, signal: openSignal }))
  document.getElementById(id)?.addEventListener('click', () => start(open).catch(fail));
stopButton.addEventListener('click', () => {
  end();
  setState('ready', 'Nothing leaves this page');
});

/** @param {(context: AudioContext) => Promise<AudioNode>} open */
async function start(open) {
  end();
  const context = new AudioContext({ sampleRate: RATE });
  end = () => void context.close();
  const source = await open(context);
  const { shared, stop } = await connect(source, worker);
  end = () => {
    stop();
    if (source instanceof MediaStreamAudioSourceNode) for (const track of source.mediaStream.getTracks()) track.stop();
    void context.close();
    end = () => {};
  };
  facts.dataset.shared = shared ? 'shared memory' : 'messages: the page is not cross-origin isolated';
  setState('listening', 'Listening');
}

/** @param {AudioContext} context */
async function openMicrophone(context) {
  // What calls need would take whistles and claps out.
  const audio = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  return context.createMediaStreamSource(await navigator.mediaDevices.getUserMedia({ audio }));
}

/** @param {AudioContext} context */
async function openSignal(context) {
  const source = new AudioBufferSourceNode(context, { buffer: await renderSignal(RATE), loop: true });
  source.connect(new GainNode(context, { gain: 0.3 })).connect(context.destination);
  source.start();
  return source;
}

/** @param {{ scores: Float32Array, milliseconds: number, lost: number }} result */
function show({ scores, milliseconds, lost }) {
  if (document.body.dataset.state !== 'listening') return;
  for (const [i, row] of rows.entries()) row(scores[i] ?? 0);
  draw(scores);
  const chunk = (HOP / RATE) * 1000;
  facts.textContent =
    `${chunk.toFixed(0)} ms of sound in ${milliseconds.toFixed(2)} ms; samples come by ${facts.dataset.shared}` +
    (lost ? `; ${lost} samples were lost` : '');
}

/** @param {string} name */
function createRow(name) {
  const row = document.createElement('li');
  const value = document.createElement('span');
  row.dataset.name = name;
  row.append(name, value);
  document.getElementById('scores')?.append(row);
  return (/** @type {number} */ score) => {
    value.style.setProperty('--share', score.toFixed(3));
    row.classList.toggle('heard', score > 0.5);
  };
}

/**
 * A column at the right, of a row for each score; what was there moves to the left.
 * @param {Float32Array} scores
 */
function draw(scores) {
  const context = /** @type {CanvasRenderingContext2D} */ (history.getContext('2d'));
  const { width, height } = history;
  context.globalCompositeOperation = 'copy';
  context.drawImage(history, -3, 0);
  context.globalCompositeOperation = 'source-over';
  context.fillStyle = getComputedStyle(history).color;
  scores.forEach((score, i) => {
    const row = height / scores.length;
    context.fillRect(width - 3, (i + 1) * row - score * (row - 4), 3, score * (row - 4));
  });
}

/**
 * @param {string} state
 * @param {string} text
 */
function setState(state, text) {
  document.body.dataset.state = state;
  status.textContent = text;
  stopButton.disabled = state !== 'listening';
}

/** @param {unknown} error */
function fail(error) {
  end();
  setState('error', error instanceof Error ? error.message : String(error));
}
