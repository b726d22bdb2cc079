import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { checkLaunches } from '../../runtime-js/verify/check_launches.js';

/** Sections of a module: `segment_0` of two offsets, which computes nothing. */
const CODE = [
  [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  [1, 6, 1, 0x60, 2, 0x7f, 0x7f, 0],
  [3, 2, 1, 0],
  [7, 13, 1, 9, ...Buffer.from('segment_0'), 0, 0],
  [10, 4, 1, 2, 0, 0x0b],
].flat();
const argument = (offset) => ({ offset, dtype: 'int32', size: 2 });
const table = JSON.stringify({
  pages: 1,
  arena: 0,
  kernels: [{ kernel: 0, arguments: [argument(0), argument(8)] }],
});
const named = [10, ...Buffer.from(`references${table}`)];
const code = Buffer.from([...CODE, 0, (named.length & 0x7f) | 0x80, named.length >> 7, ...named]);
const references = {
  url: `data:application/wasm;base64,${code.toString('base64')}`,
  bytes: code.length,
  sha256: createHash('sha256').update(code).digest('hex'),
};

const storage = { bytes: 8, dtype: 'int32' };
const program = {
  kernels: [{ name: 'k' }],
  storages: [storage, storage],
  values: [0, 1].map((storage) => ({ storage, dtype: 'int32', length: 2 })),
  launches: [{ kernel: 0, arguments: [0, 1], nodes: ['n'], ops: ['Neg'] }],
};

/** A model whose other session `begin` makes. */
const model = (begin, ...signals) => ({
  ...{ manifest: { outputs: [] }, part: { backend: 'webgpu', references }, info: {}, fetching: { timeout: 1000 } },
  ...{ begin, signals, use: () => ({ run: async () => [] }) },
  withInputs: (run) => run([], []),
});

test('a device that is lost counts no launch twice', async () => {
  const lefts = [undefined, new ArrayBuffer(8)]; // the first device has no memory for the launch
  const begin = async ({ checking }) => {
    const run = async () => {
      for (const left of lefts.splice(0)) {
        const open = checking(async () => ({ tryLaunch: async () => left }));
        const device = await open(Promise.resolve(program), {});
        await device.segment([])([{ number: 0, scalars: [] }]);
      }
      return [];
    };
    return { run, dispose: () => {} };
  };
  const found = await checkLaunches(model(begin));
  assert.deepEqual([found.compared, found.launches, found.skipped], [1, 1, []]);
});

test('it ends with the model, while its session starts', async () => {
  const [life, own] = [new AbortController(), new AbortController()];
  const ended = [];
  const begin = ({ signal }) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        ended.push(signal.reason.message);
        reject(new Error('the start ended'));
      });
      setTimeout(() => life.abort(new Error('disposed')));
    });
  await assert.rejects(checkLaunches(model(begin, life.signal, own.signal)), /disposed/);
  assert.deepEqual(ended, ['disposed']);
  await assert.rejects(checkLaunches(model(begin, life.signal)), /disposed/);
});
