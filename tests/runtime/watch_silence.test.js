import assert from 'node:assert/strict';
import { test } from 'node:test';
import { watchSilence } from '../../runtime-js/fetch/watch_silence.js';
import { createClock } from './clock.js';

test('silence is reported once, and counted from the last sign', () => {
  const clock = createClock();
  let reports = 0;
  const watch = watchSilence(8000, () => reports++, clock);
  clock.advance(7900);
  watch.onActivity();
  clock.advance(7900);
  assert.equal(reports, 0);
  clock.advance(1100);
  assert.equal(reports, 1);
  clock.advance(50_000);
  assert.equal(reports, 1);
  assert.equal(clock.timers(), 0);
});

test('a thread that was blocked for an hour has one tick, not an hour, of silence', () => {
  const clock = createClock();
  let reports = 0;
  const watch = watchSilence(8000, () => reports++, clock);
  clock.block(3_600_000);
  assert.equal(reports, 0);
  watch.onActivity();
  clock.advance(7900);
  assert.equal(reports, 0);
  watch.stop();
  clock.advance(50_000);
  assert.equal(reports, 0);
});

for (const timeout of [0, Number.POSITIVE_INFINITY]) {
  test(`a timeout of ${timeout} watches nothing`, () => {
    const clock = createClock();
    watchSilence(timeout, () => assert.fail(), clock).onActivity();
    assert.equal(clock.timers(), 0);
  });
}

test('no timer can wait longer than 2^31 - 1 ms', () => {
  let interval = 0;
  const clock = {
    setInterval(_, ms) {
      interval = ms;
    },
    clearInterval() {},
  };
  watchSilence(1e15, () => {}, clock);
  assert.equal(interval, 2 ** 31 - 1);
});
