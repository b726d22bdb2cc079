// The search for faster schedules: its figures, and how the model's time falls.

import { clock, pointsOf } from '../../../rpc/device_page/search_chart.js';
import { element, say } from './elements.js';
import { percent, some } from './format.js';
import { saveFile } from './save_file.js';

/** @typedef {import('./types.js').TuneStatus} TuneStatus */

const NOT_ISOLATED =
  'Tuning needs a page that is cross-origin isolated, and this one is not: its server sends no such headers, and no ' +
  'service worker could add them (they need https or localhost, and no private window).';

/**
 * @param {() => Promise<void>} tune
 * @param {() => void} stop
 */
export function createTuneView(tune, stop) {
  const button = element('tune', HTMLButtonElement);
  const stopButton = element('tune-stop', HTMLButtonElement);
  const saveButton = element('save-records', HTMLButtonElement);
  const note = element('tune-note', HTMLElement);
  const view = element('tune-view', HTMLElement);
  const figures = element('tune-figures', HTMLElement);
  const line = element('tune-chart', SVGElement).querySelector('polyline');
  let records = '';

  // aria-disabled is for the time that it tunes; without isolation it can never be pressed.
  button.disabled = !crossOriginIsolated;
  say(note, crossOriginIsolated ? '' : NOT_ISOLATED);
  button.addEventListener('click', async () => {
    if (button.ariaDisabled === 'true') return;
    button.ariaDisabled = 'true';
    stopButton.hidden = false;
    try {
      await tune();
    } finally {
      button.ariaDisabled = null;
      stopButton.hidden = true;
    }
  });
  stopButton.addEventListener('click', () => {
    say(note, 'Stopping');
    stop();
  });
  saveButton.addEventListener('click', () => saveFile('records.jsonl', new Blob([records])));

  return {
    /** @param {string} text what is said below the buttons */
    say: (text) => say(note, text),
    /** @param {TuneStatus} status */
    show({ phase, task, trials, of, failed, gain, left, points }) {
      view.hidden = false;
      const texts = [
        task ? `${phase}: ${task}` : phase,
        `${count(trials, of)}${failed ? `, ${failed} failed` : ''}`,
        `${percent(gain)} of the default's time`,
        left === null ? '' : `${clock(left)} left`,
      ];
      figures.textContent = texts.filter(Boolean).join(' · ');
      figures.hidden = false;
      line?.setAttribute('points', pointsOf(points, trials, Math.max(of, trials, 1)));
      element('tune-of', HTMLElement).textContent = String(of);
    },
    /** The search has ended: what it tries and the time left are of the past. */
    end() {
      figures.hidden = true;
    },
    /** @param {string} text of records, '' for none */
    setRecords(text) {
      records = text;
      saveButton.hidden = !text;
    },
    clear() {
      records = '';
      saveButton.hidden = true;
      view.hidden = true;
      say(note, crossOriginIsolated ? '' : NOT_ISOLATED);
    },
  };
}

/** @param {number} trials @param {number} of */
const count = (trials, of) => `${trials} of ${some(of, 'trial')}`;
