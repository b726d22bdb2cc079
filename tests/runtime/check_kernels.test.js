import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkKernels, checkLater } from '../../runtime-js/device/check_kernels.js';
import { tryKernels } from '../../runtime-js/device/try_kernels.js';

/** The result that the program's canaries expect. */
const RIGHT = -1;

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

test('on a GPU they take 50 ms, and those that had no time come first the next time', async (t) => {
  const MIB = 2 ** 20;
  let clock = 0;
  t.mock.method(performance, 'now', () => clock);
  const tried = [];
  const kernels = program.kernels.map((kernel) => ({ ...kernel, bytes: 30 * MIB }));
  const tryLaunch = async ({ kernel }) => {
    tried.push(kernel);
    clock += 30;
    return Float32Array.of(RIGHT).buffer;
  };
  const on = {
    plan: { backend: 'webgpu', program: { sha256: 'of the program' } },
    program: { ...program, kernels },
    device: { adapter: 'A GPU', tryLaunch },
  };
  const checks = { began: 0, known: Promise.resolve(undefined) };
  await checkKernels(checks, on);
  assert.deepEqual([tried.splice(0), checks.report], [[0], { checked: 1, skipped: 1, failed: [] }]);
  await checkKernels(checks, on);
  assert.deepEqual([tried.splice(0), checks.report], [[1], { checked: 1, skipped: 1, failed: [] }]);
  await checkKernels(checks, { ...on, plan: { ...on.plan, canaries: 'all' } });
  assert.deepEqual([tried, checks.report], [[0, 1], { checked: 2, skipped: 0, failed: [] }]);
});

test('launches are under way at once, as far as memory allows', async () => {
  const pending = [];
  const tryLaunch = () => new Promise((resolve) => pending.push(() => resolve(Float32Array.of(RIGHT).buffer)));
  const turn = () => new Promise((resolve) => setTimeout(resolve));
  const of = async (bytes) => {
    const kernels = program.kernels.map((kernel) => ({ ...kernel, bytes }));
    const found = tryKernels({ tryLaunch }, { ...program, kernels }, [0, 1]);
    await turn();
    const atOnce = pending.length;
    for (const next of [pending, pending]) {
      for (const finish of next.splice(0)) finish();
      await turn();
    }
    return [atOnce, await found];
  };
  const right = { skipped: [], failed: [] };
  assert.deepEqual(await of(2 ** 10), [2, right]);
  assert.deepEqual(await of(2 ** 25), [1, right]);
});

test('kernels are tried once more after 100 runs when the page is idle, or after 200', async () => {
  const turn = () => new Promise((resolve) => setTimeout(resolve, 2));
  const counts = [];
  for (const idle of [true, false]) {
    const checks = { report: { checked: 2, skipped: 0, failed: [] } };
    let over = 0;
    const enqueue = async () => void counts.push(over);
    checkLater(checks, enqueue, () => {});
    while (over < 300) {
      let finish;
      checks.onRun(new Promise((resolve) => (finish = resolve)));
      if (!idle) await turn();
      finish();
      over++;
      if (idle) await turn();
      else await undefined; // the next run follows at once
    }
  }
  assert.deepEqual(counts, [100, 200]);
});
