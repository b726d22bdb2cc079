// The chart of a search for schedules, on a device's page and on the page that compiles models.

const WIDTH = 320;
const TOP = 10;
const HEIGHT = 100;

/**
 * Points of a line of steps, from the default's time at the top as far as the present trial: x is trials, y the time.
 * @param {readonly (readonly [number, number])[]} points a trial, and the share of the default's time that is left from it on
 * @param {number} trials
 * @param {number} most trials at the right edge
 */
export function pointsOf(points, trials, most) {
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
export const clock = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
};
