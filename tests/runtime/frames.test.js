import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Assembler, encode } from '../../rpc/device_page/frames.js';

/**
 * @param {Record<string, any>} header
 * @param {number} [length] of its payload
 */
function frame(header, length = 0) {
  const [made] = encode(header, [new Uint8Array(length)]);
  return /** @type {Uint8Array<ArrayBuffer>} */ (made).buffer;
}

test('a message in several frames arrives whole, beside others', () => {
  const payload = Uint8Array.from({ length: 1_200_000 }, (_, i) => i % 251);
  const assembler = new Assembler();
  const found = [];
  const frames = [...encode({ id: 1, op: 'run' }, [payload.subarray(0, 7), payload.subarray(7)])];
  assert.equal(frames.length, 3);
  for (const each of frames) {
    found.push(assembler.feed(each.buffer));
    assert.deepEqual(assembler.feed(frame({ id: 2 }, 3))?.header, { id: 2 });
  }
  assert.deepEqual(found.slice(0, 2), [undefined, undefined]);
  assert.deepEqual(found[2]?.header, { id: 1, op: 'run', bytes: payload.length });
  assert.deepEqual(found[2]?.payload, payload);
});

test('memory is taken as bytes arrive, not as they are announced', () => {
  const assembler = new Assembler();
  const before = process.memoryUsage().arrayBuffers;
  for (let id = 0; id < 4; id++) assembler.feed(frame({ id, bytes: 2 ** 30 }, 10));
  assert.ok(process.memoryUsage().arrayBuffers - before < 2 ** 20);
});

test('what has arrived of a call is dropped when it is cancelled or the lease ends', () => {
  const assembler = new Assembler();
  const announce = (/** @type {number} */ id) => assembler.feed(frame({ id, bytes: 100 }, 10));
  for (let id = 0; id < 16; id++) announce(id);
  assert.throws(() => announce(16), /message 16 is there already, or 16 others are incomplete/);
  assembler.feed(frame({ id: 20, op: 'cancel', call: 3 }));
  announce(16);
  assert.throws(() => assembler.feed(frame({ id: 3, at: 10 }, 10)), /a piece at 10 of message 3, which has no bytes/);
  assembler.feed(frame({ id: 21, op: 'released' }));
  for (let id = 0; id < 16; id++) announce(id);
});

test('frames that do not fit together are refused', () => {
  for (const [first, second] of [
    [{ id: 1, at: 0 }, undefined],
    [{ id: 1, bytes: 2 ** 31 }, undefined],
    [{ id: 1, bytes: -1 }, undefined],
    [{ id: 1, bytes: 4 }, undefined],
    [
      { id: 1, bytes: 20 },
      { id: 1, at: 5 },
    ],
    [
      { id: 1, bytes: 20 },
      { id: 1, bytes: 20 },
    ],
    [
      { id: 1, bytes: 15 },
      { id: 1, at: 10 },
    ],
  ]) {
    const assembler = new Assembler();
    assert.throws(() => {
      assembler.feed(frame(/** @type {any} */ (first), 10));
      if (second) assembler.feed(frame(second, 10));
    }, RangeError);
  }
});
