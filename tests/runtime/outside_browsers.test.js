// Node.js is no browser: what it lacks is called by its own name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countThreads } from '../../runtime-js/wasm/count_threads.js';
import { requestAdapter } from '../../runtime-js/webgpu/webgpu_adapter.js';

test('WebGPU is missing', async () => {
  await assert.rejects(requestAdapter(), { code: 'backend', message: 'there is no WebGPU here' });
});

test('threads need workers, before headers of a page', () => {
  assert.deepEqual(countThreads(2, true), { threads: 1, reason: 'there are no workers here' });
});
