import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../runtime-js/load/load.js';

test('a manifest of another format is refused', async () => {
  await assert.rejects(load({ abi: 99 }), {
    name: 'UnsupportedError',
    code: 'abi',
    message: 'model.js has bundle format 99, these runtime files have 5: compile again',
  });
});

test('verify is false, or what is checked', async () => {
  const manifest = { abi: 5, inputs: [], outputs: [], weights: [], backends: [{ backend: 'wasm' }] };
  for (const verify of [null, 0, ''])
    await assert.rejects(load(manifest, { verify }), { name: 'TypeError', message: /^verify: expected false,/ });
});
