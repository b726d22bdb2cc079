import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { sizes } from '../../runtime-js/values/bind_sizes.js';
import { emptyInputs, evaluate, extentsOf, shapeOf, shownShape, varies } from '../../runtime-js/values/sizes.js';
import { eachRun, reachOf, runsOf } from '../../runtime-js/values/strided.js';

const batch = { name: 'batch', least: 1, most: 4, multiple: 1 };
const length = { name: 'length', least: 8, most: 64, multiple: 8 };
const dimensions = [batch, length];
const ofBatch = { text: 'batch', most: 4, value: [0] };
const ofLength = { text: 'length', most: 64, value: ['*', [1], 8] };
const x = { name: 'x', dtype: 'float32', shape: [ofBatch, ofLength] };
const mask = { name: 'mask', dtype: 'uint8', shape: [1, ofLength] };

/** Cases that tests of Python and C read too. */
const casesIn = (name) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), 'utf8'));

test('expressions are what the compiler means by them', () => {
  const scalars = [7, -3];
  for (const [expression, expected] of [
    [['+', [0], ['*', 2, [1]]], 1],
    [['//', [1], 2], -2],
    [['/', [1], 2], -1],
    [['%', [1], 2], 1],
    [['fmod', [1], 2], -1],
    [['min', [0], 5], 5],
    [['max', ['neg', [0]], [1]], -3],
    [['select', ['<', [1], [0]], 10, 20], 10],
    [['select', ['and', ['<=', 7, [0]], ['!=', [0], 7]], 10, 20], 20],
    [['or', ['==', [0], 7], 0], 1],
    [['not', ['==', [0], 7]], 0],
    [['shl', 1, ['shr', [0], 1]], 8],
    [12, 12],
  ]) {
    assert.equal(evaluate(expression, scalars), expected, JSON.stringify(expression));
  }
});

test('a shape has a text, a capacity and the sizes of a run', () => {
  assert.deepEqual(shapeOf(x.shape, [3, 2]), [3, 16]);
  assert.deepEqual(extentsOf(x.shape), [4, 64]);
  assert.deepEqual(shownShape(mask.shape), [1, 'length']);
  assert.deepEqual([varies(x.shape), varies([2, 3])], [true, false]);
  assert.deepEqual(shapeOf([{ text: 'length - 9', most: 0, value: ['-', [1], 9] }], [3, 2]), [0]);
  const [arrays, scalars] = emptyInputs({ inputs: [x, mask], dimensions });
  assert.deepEqual(
    [arrays.map((a) => a.length), scalars],
    [
      [256, 64],
      [4, 8],
    ],
  );
});

test('sizes follow from shapes, and from lengths that leave no choice', () => {
  const of = (...given) => sizes.bind(dimensions, [x, mask], given);
  assert.deepEqual(of({ shape: [3, 16] }, { length: 16 }), [3, 2]);
  assert.deepEqual(of({ length: 48 }, { length: 16 }), [3, 2]); // the mask's first, then the batch
  assert.deepEqual(of({ length: 48 }, { shape: [1, 24] }), [2, 3]);
});

for (const model of casesIn('size_cases.json')) {
  const sizeOf = (size) => (Array.isArray(size) ? { text: JSON.stringify(size), most: 99, value: size } : size);
  const specs = model.inputs.map((input) => ({ ...input, dtype: 'int64', shape: input.shape.map(sizeOf) }));
  for (const { shapes, elements = [], sizes: expected, error } of model.cases) {
    test(`sizes by shapes ${JSON.stringify(shapes)} and elements [${elements}]`, () => {
      const given = shapes.map((shape, i) => (i in elements ? { shape, element: BigInt(elements[i]) } : { shape }));
      const bound = () => sizes.bind(model.dimensions, specs, given);
      if (error) assert.throws(bound, { name: 'RangeError', message: error });
      else {
        const times = (n, i) => n * model.dimensions[i].multiple;
        assert.deepEqual(bound().map(times), expected);
      }
    });
  }
}

test('a shape of another rank, and lengths that leave sizes open, are errors', () => {
  assert.throws(() => sizes.bind(dimensions, [x, mask], [{ shape: [3, 16, 1] }, {}]), {
    message: 'input "x": expected shape [batch,length], got [3,16,1]',
  });
  assert.throws(() => sizes.bind(dimensions, [x], [{ length: 48 }]), {
    name: 'TypeError',
    message:
      'the lengths of the arrays do not say how long batch and length are; give { "x": { data, shape: [batch, length] } }',
  });
});

test('an element of an array without a shape may be a size, if it is a whole number', () => {
  const count = { ...batch, name: 'count', input: 0 };
  const spec = { name: 'n', dtype: 'int64', shape: [] };
  assert.deepEqual(sizes.bind([count], [spec], [{ length: 1, element: 3n }]), [3]);
  assert.throws(() => sizes.bind([count], [spec], [{ length: 1, element: 1.5 }]), /which is no whole number$/);
});

test('shapes are made of sizes', () => {
  assert.deepEqual(sizes.shapesFor(dimensions, [x, mask], { batch: 2, length: 8 }), { x: [2, 8], mask: [1, 8] });
  assert.throws(() => sizes.shapesFor(dimensions, [x], { batch: 2 }), {
    name: 'TypeError',
    message: 'inputShapes: how long is length? Give { length: a number }',
  });
  assert.throws(() => sizes.shapesFor(dimensions, [x], { batch: 2, length: 8, rows: 1 }), {
    name: 'TypeError',
    message: 'inputShapes has no dimension "rows"; it has: batch, length',
  });
  assert.throws(
    () => sizes.shapesFor(dimensions, [x], [2, 8]),
    /inputShapes expects .* dimensions, got a plain array$/,
  );
});

for (const { extents, shape, places: wanted } of casesIn('strided_cases.json')) {
  test(`an array of shape [${shape}] in memory for [${extents}]`, () => {
    const found = [];
    eachRun(extents, shape, (dense, spaced, length) => {
      assert.equal(dense, found.length);
      for (let i = 0; i < length; i++) found.push(spaced + i);
    });
    assert.deepEqual(found, wanted);
    const runs = runsOf(extents, shape);
    assert.equal(reachOf(runs), wanted.length ? wanted[wanted.length - 1] + 1 : 0);
    const last = runs[runs.length - 1];
    assert.equal(last ? last.dense + last.length : 0, wanted.length);
  });
}
