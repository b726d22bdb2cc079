// The limit of the memory of the compiler in a page.

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { liftLimit, limitHeap, refusedHeap } from '../../compiler/compile_page/web/limit_heap.js';

const PAGE = 65536;

afterEach(() => limitHeap(Infinity));

test('growth up to the limit, and none beyond it', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  limitHeap(3 * PAGE);
  assert.equal(memory.grow(2), 1);
  assert.throws(() => memory.grow(1), /beyond its limit/);
  assert.equal(memory.buffer.byteLength, 3 * PAGE);
  assert.equal(refusedHeap(), 4 * PAGE);
});

test('an allocation that then takes less is none that was refused', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  limitHeap(3 * PAGE);
  assert.throws(() => memory.grow(5));
  memory.grow(1);
  assert.equal(refusedHeap(), 0);
});

test('a limit that is lifted allows everything, and what it refused stays known until the next', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  limitHeap(PAGE);
  assert.throws(() => memory.grow(1));
  liftLimit();
  assert.equal(memory.grow(1), 1);
  assert.equal(refusedHeap(), 2 * PAGE);
  limitHeap(5 * PAGE);
  assert.equal(refusedHeap(), 0);
});
