import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaveToHost } from '../../runtime-js/device/run_on_host.js';

const storage = { bytes: 8, dtype: 'float32' };
/** The second kernel doubles its operand, on the host; of the others each adds 1. */
const double = {
  compute: ([operand]) => ({ result: operand.map((x) => 2 * x), at: (place) => place, places: 2 }),
};
const programOf = (reference) => ({
  kernels: [{ name: 'add' }, { name: 'double', ...(reference && { reference }) }],
  storages: [storage, storage],
  values: [0, 1].map((storage) => ({ storage, dtype: 'float32', length: 2 })),
  launches: [
    { kernel: 0, arguments: [0, 1] },
    { kernel: 1, arguments: [1, 0] },
  ],
});

/** A device that adds, and notes how it is called. */
function deviceOf(program) {
  const contents = program.storages.map(() => Float32Array.of(1, 2));
  const calls = [];
  const device = {
    contents,
    calls,
    token: () => {},
    segment: (reads) => async (launches) => {
      calls.push(launches.map(({ number }) => number));
      await new Promise((resolve) => setTimeout(resolve));
      for (const { number } of launches) {
        const [from, to] = program.launches[number].arguments;
        contents[to] = contents[from].map((x) => x + 1);
      }
      return reads.map((value) => contents[value].slice());
    },
    readStorage: async (storage) => contents[storage].slice(),
    write: (value, data) => {
      contents[value] = data;
    },
    time: async (launches, repeat) => ({ ms: launches.map(() => repeat), clock: 'gpu' }),
    session: async () => deviceOf(program),
  };
  return device;
}
const started = (...numbers) => numbers.map((number) => ({ number, scalars: [] }));

test('launches of a kernel with a reference are computed between those of the device, in order', async () => {
  const program = programOf(double);
  const first = deviceOf(program);
  leaveToHost(first, program);
  for (const device of [first, await first.session()]) {
    const run = device.segment([0]);
    const both = [run(started(0, 1, 0)), run(started(1))]; // the second one waits for the first
    assert.deepEqual(await both[0], [Float32Array.of(4, 6)]);
    assert.deepEqual(await both[1], [Float32Array.of(10, 14)]);
    assert.deepEqual(device.calls, [[0], [0], []]);
    assert.equal(device.token, undefined);
    const { ms, clock } = await device.time(started(0, 1), 3);
    assert.deepEqual([ms[0], ms.length, clock], [3, 2, 'wall']);
  }
});

test('a device whose kernels are right stays as it is', () => {
  const program = programOf();
  const device = deviceOf(program);
  const before = { ...device };
  leaveToHost(device, program);
  assert.deepEqual(device, before);
});
