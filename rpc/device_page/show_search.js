// The status of a search for schedules: what is tried, and how the model's time falls.

/** @typedef {import('./run_requests.js').Status} Status */

const WIDTH = 320;
const TOP = 10;
const HEIGHT = 100;

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

/**
 * Steps from 100% at the top, as far as the present trial: x is trials, y the time.
 * @param {[number, number][]} points
 * @param {number} trials
 * @param {number} most
 */
function pointsOf(points, trials, most) {
  let y = TOP;
  const steps = [`0,${TOP}`];
  for (const [trial, gain] of points) {
    const x = ((WIDTH * trial) / most).toFixed(1);
    steps.push(`${x},${y}`);
    y = Math.round(TOP + HEIGHT * (1 - Math.min(1, gain)));
    steps.push(`${x},${y}`);
  }
  steps.push(`${((WIDTH * trials) / most).toFixed(1)},${y}`);
  return steps.join(' ');
}

/** @param {number} seconds */
const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.round(seconds % 60)).padStart(2, '0')}`;
