import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparingDevice, noFindings } from '../../runtime-js/verify/comparing_device.js';

const program = {
  kernels: [{ name: 'double' }, { name: 'negate' }],
  storages: [
    { bytes: 8, dtype: 'int8' },
    { bytes: 32, dtype: 'int32' },
    { bytes: 16, dtype: 'float16' },
  ],
  values: [
    { storage: 0, dtype: 'int8', length: 6 },
    { storage: 1, dtype: 'int32', length: 6 },
    { storage: 2, dtype: 'float16', length: 6 },
  ],
  launches: [
    { kernel: 0, arguments: [0, 1], nodes: ['n0'], ops: ['Mul'] },
    { kernel: 1, arguments: [1, 2], nodes: ['n1'], ops: ['Neg'] },
  ],
};

/** A reference that computes element by element, but for the last one. */
const reference = (Type, compute) => ({
  tolerance: Type === Float32Array ? 2e-3 : 0,
  compute: ([operand]) => {
    const result = Type.from(operand.subarray(0, 6), compute);
    return { result, places: 6, at: (place) => (place === 5 ? -1 : place) };
  },
});
const references = new Map([
  [0, reference(Int32Array, (x) => 2 * x)],
  [1, reference(Float32Array, (x) => -1e5 * x)],
]);

/** A device that computes what `wrong` says of a kernel, or what is right; `tried` are the contents that it was given. */
function opened(own = references, wrong = {}) {
  const device = {
    tried: [],
    released: [],
    async tryLaunch({ kernel }, _, contents) {
      device.tried.push(contents.map((one) => one.slice()));
      if (wrong[kernel] === undefined) return undefined;
      const left = contents.at(-1).slice();
      wrong[kernel].forEach((x, i) => {
        left[i] = x;
      });
      return left.buffer;
    },
    release: (storage) => device.released.push(storage),
    draw: () => {},
    segment: () => async () => [Int8Array.of(1, 1, 1, 1, 1, 1)],
  };
  const findings = noFindings();
  return { device, findings, compared: comparingDevice(device, program, own, findings, undefined) };
}

const started = [0, 1].map((number) => ({ number, scalars: [] }));
const MOST = 0x7bff; // 65504, the largest float16
const halves = [MOST | 0x8000, MOST, MOST | 0x8000, 0x8000, MOST, 0];
const right = { 0: [2, -4, 6, 0, -10, 77], 1: halves };

test('each launch has what the reference made of those before', async () => {
  const { device, findings, compared } = opened(references, { ...right, 0: [2, -4, 7, 0, -10, 77] });
  const written = Int8Array.of(1, -2, 3, 0, -5, 6);
  compared.write(0, written);
  written.fill(0); // it is the caller's again
  const [doubled] = await compared.segment([1])(started, [5]);
  assert.deepEqual(doubled, Int32Array.of(2, -4, 6, 0, -10));
  const [[bytes, before], [operand]] = device.tried;
  assert.deepEqual([bytes.length, before.length], [8, 8]);
  assert.deepEqual(operand, Int32Array.of(2, -4, 6, 0, -10, 0, 0, 0));
  assert.deepEqual(
    [...findings.wrong.values()],
    [{ kernel: 'double', nodes: ['n0'], ops: ['Mul'], launch: 0, apart: 1, allowed: 0 }],
  );
  assert.deepEqual([findings.compared.size, findings.launches, findings.skipped.size], [2, 2, 0]);
});

test('float16 saturate, and what is not written stays', async () => {
  const { compared } = opened(references, right);
  compared.write(0, Int8Array.of(1, -2, 3, 0, -5, 6));
  const [found] = await compared.segment([2])(started);
  assert.deepEqual([...found], halves);
});

test('what cannot be compared is carried out by whom there is', async () => {
  const without = opened(new Map([[0, references.get(0)]]), { 1: halves });
  without.compared.write(0, Int8Array.of(1, -2, 3, 0, -5, 6));
  const [found] = await without.compared.segment([2])(started);
  assert.deepEqual([...found], halves, 'by the device, without a reference');
  assert.deepEqual(
    [...without.findings.skipped.values()].map(({ kernel }) => kernel),
    ['double', 'negate'],
  );
  assert.equal(without.findings.launches, 0);
});

test('later runs are those of references alone', async () => {
  const { device, findings, compared } = opened(references, right);
  findings.over = true;
  await compared.segment([])(started);
  assert.equal(device.tried.length, 0);
});

test('inputs that are drawn come from the device', async () => {
  const { device, compared } = opened(references, right);
  compared.draw(0, {}, {});
  await compared.segment([])([started[0]]);
  assert.deepEqual([...device.tried[0][0]], [1, 1, 1, 1, 1, 1, 0, 0]);
  compared.release(0);
  assert.deepEqual(device.released, [0]);
});

test('a storage that has no room ends it', async () => {
  const { device } = opened();
  const huge = { ...program, storages: program.storages.map((one) => ({ ...one, bytes: 2 ** 60 })) };
  const compared = comparingDevice(device, huge, references, noFindings(), undefined);
  compared.write(0, Int8Array.of(1, 2));
  await assert.rejects(compared.segment([])([]), {
    code: 'memory',
    message: /did not allocate 1099511627776 MiB more/,
  });
});

test('the page has its turn while references compute alone', async () => {
  const busy = (own) => ({
    ...own,
    compute(...given) {
      for (const began = performance.now(); performance.now() - began < 60; );
      return own.compute(...given);
    },
  });
  const ending = new AbortController();
  const slow = new Map([...references].map(([kernel, own]) => [kernel, busy(own)]));
  const compared = comparingDevice(opened().device, program, slow, { ...noFindings(), over: true }, ending.signal);
  setTimeout(() => ending.abort(new Error('stopped')));
  await assert.rejects(compared.segment([])(started), /stopped/);
});

test('an abort ends it', async () => {
  const { device } = opened();
  const signal = AbortSignal.abort(new Error('enough'));
  const compared = comparingDevice(device, program, references, noFindings(), signal);
  await assert.rejects(compared.segment([])(started), /enough/);
});
