import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withDevice } from '../../runtime-js/device/build_device.js';
import { DeviceLostError } from '../../runtime-js/errors.js';

/** A device that a program is on: { device, disposed }. */
function built() {
  const one = { disposed: 0, device: { dispose: () => one.disposed++ } };
  return one;
}

test('a run that ends late on a lost device leaves the one in its place alone', async () => {
  const [first, second] = [built(), built()];
  const state = { built: first, ready: true, disposed: false };
  /** @type {(error: Error) => void} */
  let lose = () => {};
  const late = withDevice(state, false, () => new Promise((_, reject) => (lose = reject)));
  const lost = () => new DeviceLostError('lost', 'the GPU was lost');
  await assert.rejects(
    withDevice(state, false, () => Promise.reject(lost())),
    DeviceLostError,
  );
  assert.deepEqual([first.disposed, state.built], [1, undefined]);
  state.built = second;
  lose(lost());
  await assert.rejects(late, DeviceLostError);
  assert.deepEqual([second.disposed, state.built], [0, second]);
});
