// Where pixels of an input are in a picture: as compiler/pictures/prepare.py places it.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { answers } from '../../runtime-js/answers/answers.js';
import { axesOf, inside } from '../../runtime-js/answers/frame.js';
import { maskOf } from '../../runtime-js/answers/mask.js';

const frame = { input: 'x', rows: 224, columns: 224 };

test('without a picture coordinates stay', () => {
  assert.deepEqual(axesOf({ ...frame, columns: 100 }), [
    [0, 1, 100],
    [0, 1, 224],
  ]);
});

/** @type {[string, [number, number], number[], [number[], number[]]][]} */
const cases = [
  [
    'stretch',
    [224, 224],
    [100, 300],
    [
      [0, 300 / 224, 300],
      [0, 100 / 224, 100],
    ],
  ],
  [
    'crop',
    [256, 256],
    [300, 403],
    [
      [60, 403 / 343, 403],
      [16, 300 / 256, 300],
    ],
  ],
  [
    'letterbox',
    [224, 224],
    [100, 300],
    [
      [0, 300 / 224, 300],
      [-74, 100 / 75, 100],
    ],
  ],
  [
    'letterbox-top-left',
    [224, 224],
    [100, 300],
    [
      [0, 300 / 224, 300],
      [0, 100 / 75, 100],
    ],
  ],
  [
    'stretch',
    [224, 224],
    [50, 150, 100, 299],
    [
      [0, 299 / 224, 299],
      [0, 100 / 224, 100],
    ],
  ],
];
for (const [resize, whole, size, expected] of cases)
  test(`${resize} of ${size}`, () => assert.deepEqual(axesOf({ ...frame, resize, whole }, size), expected));

test('coordinates end at the sides', () => {
  assert.deepEqual(
    [-80, 10, 500].map((v) => inside([20, 0.5, 100], v)),
    [0, 15, 100],
  );
});

test('a mask has the size of the picture, and class 0 outside of what the model saw', () => {
  const crop = { input: 'x', rows: 4, columns: 4, resize: 'crop', whole: /** @type {[number, number]} */ ([4, 4]) };
  const small = Uint8Array.from([1, 2, 3, 4]);
  const mask = maskOf(small, { frame: crop, rows: 2, columns: 2 }, axesOf(crop, [4, 8]));
  assert.deepEqual([mask.width, mask.height], [8, 4]);
  const rows = [
    [0, 0, 1, 1, 2, 2, 0, 0],
    [0, 0, 3, 3, 4, 4, 0, 0],
  ];
  assert.deepEqual([...mask.classes], [rows[0], rows[0], rows[1], rows[1]].flat());
});

test('points and boxes end at the sides of the picture, places without a box are left out, other outputs stay', () => {
  const frame = { input: 'x', rows: 10, columns: 10, resize: 'stretch', whole: [10, 10] };
  const specs = [
    { name: 'a', kind: 'keypoints', outputs: { points: 1 }, frame },
    { name: 'b', kind: 'detect', outputs: { boxes: 2, scores: 3, index: 4 }, frame },
  ];
  const { describe, of } = answers.start(specs, { signal: undefined, timeout: 0 });
  const names = ['y', 'a.points', 'b.boxes', 'b.scores', 'b.index'];
  assert.deepEqual(describe(names), ['y', { name: 'a', answer: 'keypoints' }, { name: 'b', answer: 'detect' }]);
  const arrays = [
    [7],
    Float32Array.of(5, 2, 0.5, 20, -1, 0.25),
    Float32Array.of(8, -1, 4, 3, 0, 0, 0, 0),
    Float32Array.of(0.75, 0),
    Int32Array.of(3, 0),
  ];
  const found = of(
    names.map((name, i) => [name, arrays[i]]),
    { x: [20, 100] },
  );
  assert.deepEqual(Object.fromEntries(found), {
    y: [7],
    a: [
      { label: '0', score: 0.5, index: 0, x: 50, y: 4 },
      { label: '1', score: 0.25, index: 1, x: 100, y: 0 },
    ],
    b: [{ label: '3', score: 0.75, index: 3, box: { x: 80, y: 0, width: 20, height: 4 } }],
  });
});

test('labels of elements, also of 64 bits, and scores by label for each row', async () => {
  const file = JSON.stringify(['a', '__proto__']);
  const sha256 = createHash('sha256').update(file).digest('hex');
  const labels = { url: `data:application/json,${file}`, bytes: file.length, sha256 };
  const specs = [
    { name: 'a', kind: 'labels', outputs: { places: 0 }, labels },
    { name: 'b', kind: 'scores', outputs: { scores: 1 }, labels },
  ];
  const { ready, of } = answers.start(specs, { signal: undefined, timeout: 0 });
  await ready({ dispose: () => {} });
  const results = of(
    [
      ['x', BigInt64Array.of(1n, 0n, 1n)],
      ['y', Float32Array.of(0.25, 0.75, 1, 0)],
    ],
    undefined,
  );
  const { a, b } = Object.fromEntries(results);
  assert.deepEqual(a, ['__proto__', 'a', '__proto__']);
  assert.deepEqual(b.map(Object.entries), [
    [
      ['a', 0.25],
      ['__proto__', 0.75],
    ],
    [
      ['a', 1],
      ['__proto__', 0],
    ],
  ]);
});

test('vectors and texts of a batch are lists; of repeats one is left, and no blank', () => {
  const specs = [
    { name: 'a', kind: 'embedding', outputs: { vector: 0 }, many: /** @type {const} */ (true) },
    { name: 'b', kind: 'text', outputs: { ids: 1 }, many: 2, tokenizer: 1, special: false, blank: 0 },
    { name: 'c', kind: 'text', outputs: { ids: 2 }, tokenizer: 1, special: true },
  ];
  const decode = (/** @type {number[]} */ ids, /** @type {boolean} */ special) => `${ids} ${special}`;
  const other = { encode: () => [], decode: () => 'of another tokenizer' };
  const { of } = answers.start(specs, { signal: undefined, timeout: 0 }, [other, { encode: () => [], decode }]);
  const vectors = Object.assign(Float32Array.of(1, 2, 3, 4, 5, 6), { shape: [3, 2] });
  const found = of(
    [
      ['x', vectors],
      ['y', Int32Array.of(5, 5, 0, 5, 0, 0, 6, 6)],
      ['z', Int32Array.of(1, 1, 0)],
    ],
    undefined,
  );
  assert.deepEqual(Object.fromEntries(found), {
    a: [Float32Array.of(1, 2), Float32Array.of(3, 4), Float32Array.of(5, 6)],
    b: ['5,5 false', '6 false'],
    c: '1,1,0 true',
  });
  const none = Object.assign(new Float32Array(), { shape: [0, 2] });
  assert.deepEqual(
    of(
      [
        ['x', none],
        ['y', vectors],
        ['z', vectors],
      ],
      undefined,
    )[0],
    ['a', []],
  );
});
