// Silence: nothing arrived for a while. Counted in ticks of a timer, not by the time of day: a tick that comes late,
// because the thread was blocked or the machine slept, counts once, and what arrived meanwhile is seen before the next.

const TICKS = 8;
const LONGEST = 2 ** 31 - 1; // of timers, in ms

/** @typedef {{ setInterval: (tick: () => void, ms: number) => any, clearInterval: (id: any) => void }} Clock */
/** @typedef {{ onActivity: () => void, stop: () => void }} Watch */

/**
 * @param {number} timeout ms; 0 and Infinity watch nothing
 * @param {() => void} onSilence called once, at least `timeout` and at most 9/8 of it after the last `onActivity`
 * @param {Clock} [clock]
 * @returns {Watch}
 */
export function watchSilence(timeout, onSilence, clock = globalThis) {
  if (timeout === 0 || timeout === Number.POSITIVE_INFINITY) return { onActivity() {}, stop() {} };
  let silent = 0;
  const stop = () => clock.clearInterval(id);
  const tick = () => {
    if (++silent <= TICKS) return;
    stop();
    onSilence();
  };
  const id = clock.setInterval(tick, Math.min(timeout / TICKS, LONGEST));
  return {
    onActivity() {
      silent = 0;
    },
    stop,
  };
}

/** @param {number} timeout ms */
export const seconds = (timeout) => `${timeout / 1000} s`;
