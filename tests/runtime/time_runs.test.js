import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeRuns } from '../../rpc/device_page/time_runs.js';

const wait = () => new Promise((resolve) => setTimeout(resolve, 2));

test('runs are repeated as often as the clock requires', async () => {
  let runs = 0;
  const run = async () => {
    await wait();
    runs++;
  };
  const model = { run };
  const { times, runs: each } = await timeRuns(/** @type {any} */ (model), {}, 3, 2);
  assert.equal(times.length, 3);
  assert.ok(times.every((ms) => ms >= 1));
  assert.ok(runs >= 2 + 1 + 3 * each);
});

test('a model with states is timed in a session of its own, which every run finds empty', async () => {
  const seen = /** @type {string[]} */ ([]);
  let rows = 0;
  const session = {
    reset: async () => {
      rows = 0;
    },
    run: async () => {
      assert.equal(rows++, 0);
      await wait();
    },
    dispose: async () => void seen.push('disposed'),
  };
  const model = {
    session: async () => session,
    run: async () => assert.fail('a run of the model itself'),
  };
  const { times } = await timeRuns(/** @type {any} */ (model), {}, 2, 1);
  assert.ok(times.every((ms) => ms >= 1));
  assert.deepEqual(seen, ['disposed']);
});

test('the session ends where a run rejects', async () => {
  const seen = /** @type {string[]} */ ([]);
  const session = {
    reset: async () => undefined,
    run: async () => Promise.reject(new Error('full')),
    dispose: async () => void seen.push('disposed'),
  };
  const model = { session: async () => session, run: session.run };
  await assert.rejects(timeRuns(/** @type {any} */ (model), {}, 1, 0), /full/);
  assert.deepEqual(seen, ['disposed']);
});
