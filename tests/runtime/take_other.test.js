import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { others } from '../../runtime-js/device/take_other.js';

const floats = JSON.stringify({ 0: 'floats' });
const sha256 = createHash('sha256').update(floats).digest('hex');

/** @param {string[]} features of the device @param {string} url of the sources in float32 */
const on = (features, url) => ({
  plan: { floats: { url, bytes: floats.length, sha256 } },
  device: { features },
  program: {
    kernels: ['sum', 'sum', 'max'].map((name) => ({ name, source: 'halves', subgroups: 'subgroups' })),
    launches: [0, 1, 2].map((kernel) => ({ kernel, nodes: [`Node_${kernel}`], arguments: [] })),
  },
});

test('sources that take the place of wrong ones', async (t) => {
  const server = createServer((_, answer) => answer.end(floats)).listen(0);
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const url = `http://localhost:${server.address().port}/`;

  await t.test('in their order, as far as the device and the kernel have them', async () => {
    const all = on(['subgroups'], url);
    assert.equal(await others.take(all, 0), 'without-subgroups');
    assert.deepEqual(all.program.kernels[0], { name: 'sum', source: 'halves', taken: 'without-subgroups' });
    assert.equal(await others.take(all, 0), 'without-f16');
    assert.equal(all.program.kernels[0].source, 'floats');
    assert.equal(await others.take(all, 0), undefined);
    assert.equal(await others.take(all, 1), 'without-subgroups');
    assert.equal(await others.take(all, 1), undefined);
    assert.equal(await others.take(on([], url), 0), 'without-f16');
  });

  await t.test('those that were right before, once for each program', async () => {
    const all = on(['subgroups'], url);
    const fault = (name, kernel, action) => ({ kernel: name, nodes: [`Node_${kernel}`], action });
    const faults = [
      fault('sum', 0, 'without-f16'),
      fault('max', 2, 'without-subgroups'),
      fault('sum', 1, 'other-backend'),
    ];
    for (let device = 0; device < 2; device++) {
      await others.takeKnown(all, faults);
      assert.deepEqual(
        all.program.kernels.map(({ source, subgroups }) => subgroups ?? source),
        ['floats', 'subgroups', 'halves'],
      );
    }
  });
});
