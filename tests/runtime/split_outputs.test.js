import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitOutputs } from '../../runtime-js/webgl/split_outputs.js';

const source = `#version 300 es
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
void main() { o0 = o1 = o2 = vec4(0.0); }`;

test('a device that draws into enough layers gets the shader as it is', () => {
  assert.deepEqual(splitOutputs(source, 3, 4), [{ source, first: 0, count: 3 }]);
});

test('elsewhere every output is drawn once, at the first locations; others are variables', () => {
  const [front, back, ...more] = splitOutputs(source, 3, 2);
  assert.deepEqual(more, []);
  assert.deepEqual([front?.first, front?.count, back?.first, back?.count], [0, 2, 2, 1]);
  assert.match(front?.source ?? '', /location = 0\) out vec4 o0;\nlayout\(location = 1\) out vec4 o1;\nvec4 o2;/);
  assert.match(back?.source ?? '', /^vec4 o0;\nvec4 o1;\nlayout\(location = 0\) out vec4 o2;$/m);
});
