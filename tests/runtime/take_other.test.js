import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { replace, takeKnown } from '../../runtime-js/device/take_other.js';

const alternatives = JSON.stringify({
  0: [
    { taken: 'without-f16', source: 'floats' },
    { taken: 'other-schedule', source: '@A=b0[$Z];', grid: [7, 1, 1] },
  ],
});
const SIMPLE = 'let A0=b0[Z0];';
const sha256 = createHash('sha256').update(alternatives).digest('hex');

/** @param {string} url of the alternatives @param {string[]} right sources; the result of others is off */
const on = (url, right) => {
  const program = {
    kernels: ['sum', 'sum', 'max'].map((name) => ({
      ...{ name, source: 'halves', grid: [1, 1, 1], flops: 1e6, bytes: 0, checksum: 3.5 },
    })),
    launches: [0, 1, 2].map((kernel) => ({ kernel, nodes: [`Node_${kernel}`], arguments: [0] })),
    storages: [{ dtype: 'float32', bytes: 4 }],
    values: [{ storage: 0, dtype: 'float32', length: 1 }],
    constants: [],
  };
  const compiled = [];
  const device = {
    compile: async (_, [kernel]) => compiled.push(program.kernels[kernel].source),
    // Where there is no memory for a launch, nothing is said of the kernel.
    tryLaunch: async ({ kernel }) => (right.includes(program.kernels[kernel].source) ? undefined : new ArrayBuffer(4)),
  };
  return { compiled, program, device, plan: { alternatives: { url, bytes: alternatives.length, sha256 } } };
};

test('sources that take the place of wrong ones', async (t) => {
  const server = createServer((_, answer) => answer.end(alternatives)).listen(0);
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close());
  const url = `http://localhost:${server.address().port}/`;

  await t.test('as far as a kernel has one', async () => {
    const all = on(url, ['floats']);
    assert.equal(await replace(all, 0), 'without-f16');
    assert.equal(await replace(all, 1), undefined);
    assert.deepEqual(all.compiled, ['floats']);
    assert.equal(await replace(on(url, []), 0), undefined);
  });

  await t.test('the next where one is wrong, with a grid of its own, and each once', async () => {
    const all = on(url, [SIMPLE]);
    assert.equal(await replace(all, 0), 'other-schedule');
    assert.deepEqual(all.compiled, ['floats', SIMPLE]);
    const { source, grid, taken } = all.program.kernels[0];
    assert.deepEqual([source, grid, taken], [SIMPLE, [7, 1, 1], 'other-schedule']);
    assert.equal(await replace(all, 0), undefined);
  });

  await t.test('first the one without subgroups, once', async () => {
    const all = on(url, ['halves']);
    Object.assign(all.program.kernels[0], { subgroups: 'together' });
    assert.equal(await replace(all, 0), 'without-subgroups');
    assert.deepEqual(all.compiled, ['halves']);
    assert.equal(all.program.kernels[0].subgroups, undefined);
  });

  await t.test('none where they do not arrive, which is an error where they were right before', async () => {
    const all = on(`${url.replace('http', 'nothing')}`, ['floats']);
    assert.equal(await replace(all, 0), undefined);
    const fault = { kernel: 'sum', nodes: ['Node_0'], action: 'without-f16' };
    await assert.rejects(takeKnown(all, [fault]), { name: 'DownloadError' });
  });

  await t.test('those that were right before, once for each program', async () => {
    const all = on(url, []);
    const simple = on(url, []);
    await takeKnown(simple, [{ kernel: 'sum', nodes: ['Node_0'], action: 'other-schedule' }]);
    assert.deepEqual([simple.program.kernels[0].source, simple.compiled], [SIMPLE, []]);
    const fault = (name, kernel, action) => ({ kernel: name, nodes: [`Node_${kernel}`], action });
    for (let device = 0; device < 2; device++) {
      await takeKnown(all, [fault('sum', 0, 'without-f16'), fault('sum', 1, 'other-backend')]);
      assert.deepEqual(
        all.program.kernels.map(({ source }) => source),
        ['floats', 'halves', 'halves'],
      );
    }
  });

  await t.test('the host where it has little to do, or no other backend could take its place', async () => {
    const reference = { tolerance: 0 };
    const taken = async (flops, others) => {
      const all = on(url, []);
      Object.assign(all.plan, { references: {}, others });
      all.program.references = new Map([[0, reference]]);
      Object.assign(all.program.kernels[0], { flops });
      const action = await replace(all, 0);
      return [action, all.program.kernels[0].reference, await replace(all, 1)];
    };
    const host = ['host', reference, undefined];
    assert.deepEqual(await taken(6e4, true), host);
    assert.deepEqual(await taken(7e4, true), [undefined, undefined, undefined]);
    assert.deepEqual(await taken(7e4, false), host);
  });
});
