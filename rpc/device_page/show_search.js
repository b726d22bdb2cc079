// The status of a search for schedules: what is tried, and how the model's time falls.

import { clock, pointsOf } from './search_chart.js';

/** @typedef {import('./run_requests.js').Status} Status */

/**
 * @param {HTMLElement} section
 * @param {Status} status
 */
export function showSearch(section, status) {
  const { model, target, phase, task, trials, of, failed, gain, left, points } = status;
  /** @param {string} selector */
  const part = (selector) => /** @type {HTMLElement} */ (section.querySelector(selector));
  section.hidden = false;
  part('h2').textContent = `Tuning ${model} for ${target}`;
  part('.ended').hidden = phase !== 'done';
  const figures = [
    task ? `${phase}: ${task}` : phase,
    `${trials} of ${of} trials${failed ? `, ${failed} failed` : ''}`,
    `${(100 * gain).toFixed(1)}% of the default's time`,
    left === null ? '' : `${clock(left)} left`,
  ];
  part('.figures').textContent = figures.filter(Boolean).join(' · ');
  part('polyline').setAttribute('points', pointsOf(points, trials, Math.max(of, trials, 1)));
  const [from, to] = section.querySelectorAll('.axis span');
  if (from && to) [from.textContent, to.textContent] = ['0 trials', String(of)];
}

/**
 * Nothing of it is tried here any more: it is done, was interrupted, or goes on when this device joins again.
 * @param {HTMLElement} section
 */
export function endSearch(section) {
  const ended = section.querySelector('.ended');
  if (ended instanceof HTMLElement) ended.hidden = false;
}
