import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSegment, readMapped } from '../../runtime-js/webgpu/webgpu_launch.js';

/** A device that reports an error for each submission of the launches `broken`, where anything listens. */
function createState(broken) {
  const log = [];
  let current = [];
  let failed = false;
  const pass = {
    setPipeline: (number) => current.push(number),
    setBindGroup() {},
    dispatchWorkgroups() {},
    end() {},
  };
  const encoder = { beginComputePass: () => pass, finish: () => current };
  const device = {
    pushErrorScope() {},
    popErrorScope: async () => (failed ? { message: 'too many workgroups' } : null),
    createCommandEncoder() {
      current = [];
      return encoder;
    },
    queue: {
      submit([launches]) {
        failed = launches.some((number) => broken.includes(number));
        log.push(launches.join(' '));
      },
    },
  };
  const launches = ['add', 'scale', 'sum'].map((name) => ({ kernel: 0, name, nodes: [name], ops: [] }));
  const prepared = launches.map((launch, pipeline) => ({ pipeline, grid: [1, 1, 1], launch }));
  return { log, state: { device, program: { kernels: [], launches }, prepared, proven: new Set() } };
}

const started = (...numbers) => numbers.map((number) => ({ number, scalars: [] }));

test('launches are submitted together', async () => {
  const { log, state } = createState([]);
  await createSegment(state, [])(started(0, 1, 2));
  assert.deepEqual(log, ['0 1 2']);
});

test('each launch is checked when it first runs, whatever ran before', async () => {
  const { log, state } = createState([2]);
  const segment = createSegment(state, []);
  await segment(started(0, 1));
  await assert.rejects(segment(started(1, 2)), {
    name: 'RunError',
    message: 'WebGPU: kernel sum (nodes: sum): too many workgroups',
  });
  assert.deepEqual(log, ['0 1', '1 2', '2']);
  await assert.rejects(segment(started(2)), { name: 'RunError' });
});

test('a loss between the mapping of a buffer and its reading is a lost device', async () => {
  const device = { queue: { onSubmittedWorkDone: async () => {} } };
  const state = { device, losing: Promise.resolve() };
  const mapped = { mapAsync: async () => {} };
  const read = () => {
    throw new DOMException('Buffer is not mapped', 'OperationError');
  };
  await assert.rejects(readMapped({ ...state, lost: 'destroyed' }, mapped, read), {
    name: 'DeviceLostError',
    message: 'the WebGPU device was lost: destroyed',
  });
  assert.equal(await readMapped(state, mapped, () => 3), 3);
});
