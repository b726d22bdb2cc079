// A clock that a test advances.

export function createClock() {
  /** @type {Map<number, { tick: () => void, ms: number, next: number }>} */
  const timers = new Map();
  let now = 0;
  let made = 0;
  return {
    setInterval(tick, ms) {
      timers.set(++made, { tick, ms, next: now + ms });
      return made;
    },
    clearInterval: (id) => timers.delete(id),
    /** Lets time pass, with every tick in its turn. */
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const [first] = [...timers.values()].sort((a, b) => a.next - b.next);
        if (!first || first.next > end) break;
        now = first.next;
        first.next += first.ms;
        first.tick();
      }
      now = end;
    },
    /** Lets time pass while nothing runs: of each timer one tick is left. */
    block(ms) {
      now += ms;
      for (const timer of timers.values()) {
        timer.next = now + timer.ms;
        timer.tick();
      }
    },
    now: () => now,
    timers: () => timers.size,
  };
}
