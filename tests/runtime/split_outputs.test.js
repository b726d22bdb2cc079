import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitOutputs } from '../../runtime-js/webgl/split_outputs.js';

/** @type {Parameters<typeof splitOutputs>[0]} */
const kernel = {
  source: 'void main() { o0 = o1 = o2 = vec4(0.0); }\n',
  declarations: { samplers: ['sampler2DArray', 'isampler2DArray', 'sampler2DArray'], output: 'vec4' },
  grid: [5, 7, 3],
};

test('a device that draws into enough layers gets all outputs in one shader', () => {
  const whole = `#version 300 es
precision highp float;
precision highp int;
precision highp isampler2DArray;
precision highp sampler2DArray;
uniform sampler2DArray p0;
uniform isampler2DArray p1;
uniform sampler2DArray p2;
layout(location = 0) out vec4 o0;
layout(location = 1) out vec4 o1;
layout(location = 2) out vec4 o2;
void main() { o0 = o1 = o2 = vec4(0.0); }
`;
  assert.deepEqual(splitOutputs(kernel, 4), [{ source: whole, first: 0, count: 3 }]);
});

test('elsewhere every output is drawn once, at the first locations; others are variables', () => {
  const [front, back, ...more] = splitOutputs(kernel, 2);
  assert.deepEqual(more, []);
  assert.deepEqual([front?.first, front?.count, back?.first, back?.count], [0, 2, 2, 1]);
  assert.match(front?.source ?? '', /location = 0\) out vec4 o0;\nlayout\(location = 1\) out vec4 o1;\nvec4 o2;/);
  assert.match(back?.source ?? '', /^vec4 o0;\nvec4 o1;\nlayout\(location = 0\) out vec4 o2;$/m);
});
