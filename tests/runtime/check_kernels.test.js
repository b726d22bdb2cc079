import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkKernels } from '../../runtime-js/device/check_kernels.js';

const program = {
  kernels: [
    { name: 'sum', flops: 1, bytes: 4, norm: 0, sum: 2e4 },
    { name: 'sum', flops: 2, bytes: 4, norm: 0, sum: 2e4 },
  ],
  launches: [
    { name: 'sum', kernel: 0, nodes: ['Sum_0'], arguments: [0] },
    { name: 'sum', kernel: 1, nodes: ['Sum_1'], arguments: [0] },
  ],
  storages: [{ dtype: 'float32', bytes: 4 }],
  values: [{ storage: 0, dtype: 'float32', length: 1 }],
  constants: [],
};

test('of a kernel whose other source fails, too, there is one entry, and each report is handed on', async (t) => {
  t.mock.method(console, 'warn', () => {});
  const where = `A GPU; ${globalThis.navigator?.userAgent}`;
  const fault = { kernel: 'sum', nodes: ['Sum_0'], backend: 'webgpu', action: 'without-subgroups' };
  const reports = [];
  const checks = {
    began: 0,
    known: Promise.resolve({ where, faults: [fault] }),
    onReport: (report) => reports.push(report),
  };
  const plan = { backend: 'webgpu', program: { sha256: 'of the program' } };
  const on = { plan, program, device: { adapter: 'A GPU', tryLaunch: async () => undefined } };
  await checkKernels(checks, on);
  assert.deepEqual(reports, [{ checked: 0, skipped: 2, failed: [fault] }]);
  on.device.tryLaunch = async () => new ArrayBuffer(4);
  const again = { ...fault, action: 'other-backend' };
  const failed = [again, { ...again, nodes: ['Sum_1'] }]; // another kernel, with the same name
  await assert.rejects(checkKernels(checks, on), { code: 'wrong-results', faults: failed });
  assert.deepEqual(reports.at(-1), { checked: 2, skipped: 0, failed });
});
