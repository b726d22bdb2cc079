import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readLabels } from '../../compiler/compile_page/web/read_labels.js';

/** @param {string} name @param {string} text */
const read = (name, text) =>
  readLabels(/** @type {File} */ (/** @type {unknown} */ ({ name, text: async () => text })));

const expected = ['tench, Tinca tinca', "potter's wheel", 'a "b"\n', 'é'];

for (const [name, file, text] of [
  ['lines', 'labels.txt', 'tench, Tinca tinca\r\npotter\'s wheel\r\na "b"\r\né\r\n'],
  ['a list', 'labels.json', JSON.stringify(expected)],
  ['an object by number', 'labels.json', JSON.stringify({ 0: expected[0], 1: expected[1], 2: expected[2], 3: 'é' })],
  [
    "Keras' object of lists",
    'labels.json',
    JSON.stringify(Object.fromEntries(expected.map((l, i) => [i, [`n${i}`, l]]))),
  ],
  [
    "Python's dict",
    'imagenet1000_clsidx_to_labels.txt',
    "{0: 'tench, Tinca tinca',\n 1: \"potter's wheel\",\n 2: 'a \"b\"\\n',\n 3: u'\\xe9'}",
  ],
  [
    "Python's dict in a .json, with a last comma",
    'labels.json',
    "\ufeff{0: 'tench, Tinca tinca', 1: 'potter\\'s wheel', 2: 'a \"b\"\\n', 3: '\\u00e9',}\n",
  ],
  ["Python's list", 'labels.txt', "['tench, Tinca tinca', \"potter's wheel\", 'a \"b\"\\n', 'é',]"],
  [
    "Python's dict of tuples",
    'labels.txt',
    "{0: ('n0', 'tench, Tinca tinca'), 1: ('n1', \"potter's wheel\"), 2: ('n2', 'a \"b\"\\n'), 3: ('n3', 'é')}",
  ],
]) {
  test(`labels: ${name}`, async () => {
    const wanted = name === 'lines' ? [expected[0], expected[1], 'a "b"', 'é'] : expected;
    assert.deepEqual(await read(file, text), wanted);
  });
}

test('words that begin with a bracket are lines', async () => {
  assert.deepEqual(await read('vocab.txt', '[PAD]\n[UNK]\nthe\n'), ['[PAD]', '[UNK]', 'the']);
  assert.deepEqual(await read('vocab.txt', '(\n)\n'), ['(', ')']);
});

test('what has no labels is refused', async () => {
  await assert.rejects(read('labels.json', '{0: tench}'), /labels.json is no JSON: /);
  await assert.rejects(read('labels.json', '7'), /labels.json has no list of labels/);
  await assert.rejects(read('labels.json', '{"a": "tench"}'), /"a" is no number of a class/);
});
