import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkKernels, checkLater } from '../../runtime-js/device/check_kernels.js';
import { tryKernels } from '../../runtime-js/device/try_kernels.js';

/** The result that the program's canaries expect. */
const RIGHT = -1;

const program = {
  kernels: [
    { name: 'sum', flops: 1, bytes: 4, checksum: 3.5 },
    { name: 'sum', flops: 2, bytes: 4, checksum: 3.5 },
  ],
  launches: [
    { name: 'sum', kernel: 0, nodes: ['Sum_0'], arguments: [0] },
    { name: 'sum', kernel: 1, nodes: ['Sum_1'], arguments: [0] },
  ],
  storages: [{ dtype: 'float32', bytes: 4 }],
  values: [{ storage: 0, dtype: 'float32', length: 1 }],
  constants: [],
};

/** Kernels of the program on a device that carries out launches by `tryLaunch`. */
const trying = (tryLaunch, kernels, launches = program.launches) => ({
  plan: { backend: 'webgpu', program: { sha256: 'of the program' } },
  program: { ...program, kernels, launches },
  device: { adapter: 'A GPU', tryLaunch },
});

/** Kernels that take 30 ms each, by a clock of their own, and are right; `tried` are those that were launched. */
function slow(t) {
  let clock = 0;
  t.mock.method(performance, 'now', () => clock);
  const tried = [];
  const kernels = program.kernels.map((kernel) => ({ ...kernel, bytes: 30 * 2 ** 20 }));
  const tryLaunch = async ({ kernel }) => {
    tried.push(kernel);
    clock += 30;
    return Float32Array.of(RIGHT).buffer;
  };
  return { on: trying(tryLaunch, kernels), tried };
}

/** Checks of a session before the first. */
const unknown = () => ({ began: 0, known: Promise.resolve(undefined) });

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

test('what is off by more than the tolerance, of the other sign or no number is wrong', async () => {
  const found = async (number) => {
    const tryLaunch = async () => Float32Array.of(number).buffer;
    const { failed } = await tryKernels({ tryLaunch }, program, [0]);
    return failed.length === 0;
  };
  for (const near of [1, 1 - 2e-5, 1 + 2e-5]) assert.ok(await found(near * RIGHT), String(near));
  for (const wrong of [-RIGHT, 1.0002 * RIGHT, 0.9998 * RIGHT, 0, Infinity, -Infinity, NaN, 3e38, -3e38, 1e-40])
    assert.ok(!(await found(wrong)), String(wrong));
});

test('on a GPU they take 50 ms, and those that had no time come first the next time', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const { on, tried } = slow(t);
  const checks = unknown();
  await checkKernels(checks, on);
  assert.deepEqual([tried.splice(0), checks.report], [[0], { checked: 1, skipped: 1, failed: [] }]);
  await checkKernels(checks, on);
  assert.deepEqual([tried.splice(0), checks.report], [[1], { checked: 2, skipped: 0, failed: [] }]);
  await checkKernels(checks, { ...on, plan: { ...on.plan, canaries: 'all' } });
  assert.deepEqual([tried, checks.report], [[0, 1], { checked: 2, skipped: 0, failed: [] }]);
});

test('kernels that never fit into the time are tried after each hundred runs, one more each time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => 0);
  const settled = async () => {
    for (let i = 0; i < 40; i++) await undefined;
  };
  for (const memory of [true, false]) {
    const tried = [];
    const tryLaunch = async ({ kernel }) => {
      tried.push(kernel);
      return memory || kernel !== 1 ? Float32Array.of(RIGHT).buffer : undefined;
    };
    const three = [...program.kernels, program.kernels[1]].map((kernel) => ({ ...kernel, bytes: 2 ** 26 }));
    const launches = [...program.launches, { ...program.launches[1], kernel: 2 }];
    const on = trying(tryLaunch, three, launches);
    const checks = unknown();
    await checkKernels(checks, on);
    assert.deepEqual([tried.splice(0), checks.report.skipped], [[], 3]);
    checkLater(
      checks,
      (check) => check(on),
      () => {},
    );
    const reports = [];
    for (let run = 1; run <= 700; run++) {
      checks.onRun(Promise.resolve());
      await settled();
      t.mock.timers.tick(5);
      await settled();
      if (run % 100 === 0) reports.push(checks.report.skipped);
    }
    assert.deepEqual(tried, [0, 1, 2]); // once: those for which there is no memory, too
    assert.deepEqual(reports.slice(0, 4), memory ? [2, 0, 0, 0] : [2, 1, 1, 1]);
  }
});

test('a visit that has time for one of them tries any of them', async (t) => {
  for (const [random, first] of [
    [0.49, 0],
    [0.51, 1],
  ]) {
    t.mock.method(Math, 'random', () => random);
    const { on, tried } = slow(t);
    const checks = unknown();
    await checkKernels(checks, on);
    assert.deepEqual([tried, checks.skipped], [[first], [1 - first]]);
  }
});

test('where some are known to be wrong all are tried, whatever it takes, and what is right is forgotten', async (t) => {
  t.mock.method(console, 'warn', () => {});
  const where = `A GPU; ${globalThis.navigator?.userAgent}`;
  const fault = { kernel: 'sum', nodes: ['Sum_1'], backend: 'webgpu', action: 'other-backend' };
  const kernels = program.kernels.map((kernel) => ({ ...kernel, bytes: 2 ** 26 }));
  for (const right of [false, true]) {
    const tryLaunch = async ({ kernel }) => Float32Array.of(kernel && !right ? 1 : RIGHT).buffer;
    const plan = { backend: 'webgpu', program: { sha256: 'of the program' } };
    const on = { plan, program: { ...program, kernels }, device: { adapter: 'A GPU', tryLaunch } };
    const checks = { began: 0, known: Promise.resolve({ where, faults: [fault] }) };
    if (right) await checkKernels(checks, on);
    else await assert.rejects(checkKernels(checks, on), { code: 'wrong-results', faults: [fault] });
    assert.equal(checks.report.checked, 2);
    assert.deepEqual(checks.known, right ? undefined : { where, faults: [fault] });
  }
});

test('where one is wrong all are tried, whatever it takes', async (t) => {
  t.mock.method(console, 'warn', () => {});
  const kernels = program.kernels.map((kernel, i) => ({ ...kernel, bytes: i ? 2 ** 26 : 4 }));
  const on = trying(async () => new ArrayBuffer(4), kernels);
  const checks = unknown();
  await assert.rejects(checkKernels(checks, on), { code: 'wrong-results' });
  assert.deepEqual([checks.report.checked, checks.report.failed.length], [2, 2]);
});

test('a software adapter has a share of the load, however old the page is', async (t) => {
  let clock = 100;
  t.mock.method(performance, 'now', () => clock);
  const kernels = program.kernels.map((kernel) => ({ ...kernel, bytes: 2 ** 24 }));
  const on = {
    plan: { backend: 'webgpu', program: { sha256: 'of the program' } },
    program: { ...program, kernels },
    device: { adapter: 'llvmpipe', tryLaunch: async () => Float32Array.of(RIGHT).buffer },
  };
  const checks = unknown();
  await checkKernels(checks, on);
  assert.deepEqual(checks.report, { checked: 0, skipped: 2, failed: [] });
  clock = 3_600_000;
  await checkKernels(checks, on);
  assert.deepEqual(checks.report, { checked: 0, skipped: 2, failed: [] });
  await checkKernels(checks, on, 1); // so many of those that had no time, whatever it takes
  assert.deepEqual(checks.report, { checked: 1, skipped: 1, failed: [] });
});

test('where operands have no memory, launches that are under way are left without a fault', async () => {
  const kernels = [program.kernels[0], { ...program.kernels[1], bytes: 1 }];
  const values = [program.values[0], { ...program.values[0], length: 2 ** 40 }];
  const launches = program.launches.map((launch, i) => ({ ...launch, arguments: [i] }));
  const unhandled = [];
  const take = (error) => unhandled.push(error);
  process.on('unhandledRejection', take);
  const tryLaunch = async () => {
    await undefined;
    throw new Error('lost');
  };
  await assert.rejects(tryKernels({ tryLaunch }, { ...program, kernels, values, launches }, [0, 1]), RangeError);
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off('unhandledRejection', take);
  assert.deepEqual(unhandled, []);
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

test('kernels are tried once more after 100 runs when the page is idle, or after 200', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const settled = async () => {
    for (let i = 0; i < 4; i++) await undefined;
  };
  const counts = [];
  for (const idle of [true, false]) {
    const checks = { report: { checked: 2, skipped: 0, failed: [] } };
    let over = 0;
    const enqueue = async () => void counts.push(over);
    checkLater(checks, enqueue, () => {});
    while (over < 300) {
      let finish;
      checks.onRun(new Promise((resolve) => (finish = resolve)));
      if (!idle) t.mock.timers.tick(5);
      finish();
      over++;
      await settled();
      if (idle) t.mock.timers.tick(5); // else the next run follows at once
    }
  }
  assert.deepEqual(counts, [100, 200]);
});
