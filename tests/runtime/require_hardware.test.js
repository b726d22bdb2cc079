import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requireHardware } from '../../runtime-js/device/require_hardware.js';
import { isSoftware } from '../../runtime-js/device/software_adapter.js';

const CPUS = [
  'google swiftshader (fallback)',
  'ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero) (0x0000C0DE)), SwiftShader driver)',
  'llvmpipe, or similar',
  'ANGLE (Mesa, llvmpipe (LLVM 15.0.7 256 bits), OpenGL 4.5)',
  'llvmpipe (LLVM 19.1.7, 256 bits) (fallback)',
  'microsoft warp',
  'ANGLE (Microsoft, Microsoft Basic Render Driver (0x0000008C) Direct3D11 vs_5_0 ps_5_0, D3D11)',
  'Apple Software Renderer',
  'SWR (LLVM 12.0, 256 bits)',
  'ANGLE (Intel, Gallium 0.4 on Intel OpenSWR, OpenGL 3.3)',
  'not named (fallback)',
];
const GPUS = [
  'nvidia ampere',
  'ANGLE (Intel, Intel(R) UHD Graphics 620 (0x00005917) Direct3D11 vs_5_0 ps_5_0, D3D11)',
  'ANGLE (Apple, ANGLE Metal Renderer: Apple M2, Unspecified Version)',
  'Apple GPU',
  'Mali-G78',
  'Adreno (TM) 640',
  'Radeon R9 200 Series, or similar',
  'V3D 4.2',
];
const UNSAID = ['Generic Renderer', 'not named', 'WebKit WebGL', 'Mozilla', 'virgl', 'SVGA3D; build: RELEASE;'];

/** A trial that must not be prepared, and how often it was. */
function noTrial() {
  const prepare = () => {
    prepare.calls++;
    throw new Error('prepared');
  };
  prepare.calls = 0;
  return prepare;
}

for (const name of CPUS) {
  test(`software by its name: ${name}`, async () => {
    assert.ok(isSoftware(name));
    const prepare = noTrial();
    await assert.rejects(requireHardware(name, prepare), {
      name: 'UnsupportedError',
      code: 'software',
      message: `the adapter is software (${name}): it comes after wasm, and load({ backend }) takes it all the same`,
    });
    assert.equal(prepare.calls, 0);
  });
}

for (const name of GPUS) {
  test(`a GPU by its name: ${name}`, async () => {
    assert.ok(!isSoftware(name));
    const prepare = noTrial();
    await requireHardware(name, prepare);
    assert.equal(prepare.calls, 0);
  });
}

/** A trial on an adapter, and the clock by which it takes `ms(units, launches before)`. */
function adapter(ms) {
  const found = { now: 1000, launches: [], disposed: 0 };
  const trial = {
    async launch(units) {
      found.now += ms(units, found.launches.length);
      found.launches.push(units);
    },
    dispose: () => found.disposed++,
  };
  return { found, prepare: () => trial, now: () => found.now };
}

for (const name of UNSAID) {
  test(`a launch decides: ${name}`, async () => {
    const fast = adapter((units) => 1 + units / 4);
    await requireHardware(name, fast.prepare, fast.now);
    const slow = adapter((units) => 3 + 10 * units);
    await assert.rejects(requireHardware(name, slow.prepare, slow.now), {
      code: 'software',
      message:
        `the adapter (${name}) is as slow as software: a launch takes 83 ms, on GPUs below 50: ` +
        'it comes after wasm, and load({ backend }) takes it all the same',
    });
    assert.deepEqual([fast.found.disposed, slow.found.disposed], [1, 1]);
    assert.deepEqual(slow.found.launches, [1, 1, 2, 4, 8, 8, 8]);
  });
}

test('the first launch does not count, and one alone does not decide', async () => {
  const { found, prepare, now } = adapter((units, before) => (before === 0 ? 4000 : before === 3 ? 300 : units));
  await requireHardware('Generic Renderer', prepare, now);
  assert.deepEqual(found.launches, [1, 1, 2, 4, 4, 8, 16, 32]);
});

test('a trial that fails is ended, and decides nothing', async () => {
  const { found, prepare, now } = adapter(() => {
    throw new Error('lost');
  });
  await requireHardware('Generic Renderer', prepare, now);
  assert.equal(found.disposed, 1);
});

test('a trial that cannot be prepared decides nothing', async () => {
  await requireHardware('Generic Renderer', () => Promise.reject(new Error('no device')));
});

test('no launch decides on a hidden page', async () => {
  const prepare = noTrial();
  await requireHardware('Generic Renderer', prepare, undefined, () => true);
  assert.equal(prepare.calls, 0);
});

test('no launch decides on a page that is hidden meanwhile', async () => {
  const { found, prepare, now } = adapter(() => 1000);
  await requireHardware('Generic Renderer', prepare, now, () => found.launches.length > 3);
  assert.deepEqual([found.launches, found.disposed], [[1, 1, 1, 1], 1]);
});
