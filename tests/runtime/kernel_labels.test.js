import assert from 'node:assert/strict';
import { test } from 'node:test';
import { labelKernels } from '../../compiler/compile_page/web/kernel_labels.js';

test('kernels of one name show their nodes', () => {
  const kernels = [
    { name: 'conv_relu', nodes: ['a'] },
    { name: 'softmax', nodes: ['s'] },
    { name: 'conv_relu', nodes: ['b', 'c', 'd'] },
    { name: 'layout', nodes: [] },
    { name: 'layout', nodes: [] },
  ];
  const labels = ['conv_relu: a', 'softmax', 'conv_relu: b, c, ...', 'layout', 'layout'];
  assert.deepEqual(labelKernels(kernels), labels);
});
