// Sounds as samples: channels, rates as torchaudio resamples, lengths, refused with what is expected.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resampled, sounds } from '../../runtime-js/values/sounds.js';

const spec = [{ name: 'x', dtype: 'float32', shape: [{ text: 'x_samples', most: 8, value: [0] }], sound: 8000 }];
const dimension = { name: 'x_samples', least: 2, most: 8, multiple: 2 };

/** @param {any} inputs */
const taken = (inputs) => sounds.using(/** @type {any} */ (spec), inputs, async (given) => given, [dimension]);

/** @param {number} count @param {number} rate */
const chirp = (count, rate) =>
  Float32Array.from({ length: count }, (_, i) => {
    const t = i / rate;
    const tones = 0.3 * Math.sin(2 * Math.PI * 440 * t) + 0.1 * Math.sin(2 * Math.PI * 1234.5 * t + 1);
    return tones + 0.05 * Math.sin(2e4 * t * t);
  });

for (const [rate, to, count, figures] of /** @type {[number, number, number, number[]][]} */ ([
  [44100, 16000, 1452, [0.0644908, 0.15646157, 0.41470247, -0.04444153]],
  [8000, 16000, 8000, [0.08415882, 0.14649117, 0.41466283, 0.02805987]],
  [48000, 22050, 1838, [0.06612203, 0.14016041, 0.06983563, -0.16866033]],
]))
  test(`from ${rate} to ${to} samples in a second`, () => {
    const result = resampled(chirp(4000, rate), rate, to, 9000);
    assert.equal(result.length, count);
    for (const [i, at] of [0, 1, 700, count - 1].entries())
      assert.ok(Math.abs(Number(result[at]) - Number(figures[i])) < 1e-6, `${result[at]} at ${at}`);
    assert.deepEqual(resampled(chirp(4000, rate), rate, to, 100), result.subarray(0, 100));
  });

test('samples at the rate are taken as they are, cut, and filled up by silence', async () => {
  const data = Float32Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const { x } = await taken({ x: data });
  assert.deepEqual(x, { data: data.subarray(0, 8), shape: [8] });
  assert.equal(x.data.buffer, data.buffer);
  assert.deepEqual((await taken({ x: data.subarray(0, 3) })).x, { data: Float32Array.of(1, 2, 3, 0), shape: [4] });
  assert.deepEqual((await taken({ x: { data: data.subarray(0, 1), shape: [1] } })).x.data, Float32Array.of(1, 0));
});

test('the mean of channels', async () => {
  const channels = [Float32Array.of(1, 2), Float32Array.of(3, -2)];
  assert.deepEqual((await taken({ x: { data: channels, rate: 8000 } })).x.data, Float32Array.of(2, 0));
});

test('inputs that are no sounds, and no objects, are left to others', async () => {
  assert.deepEqual(await taken({ other: 3 }), { other: 3 });
  assert.equal(await taken(3), 3);
});

for (const [what, value, expected] of /** @type {[string, any, RegExp][]} */ ([
  [
    'a number',
    3,
    /^input "x": expected a sound \(AudioBuffer or Blob\), \{ data, rate \}.* of 8000 samples .*got number$/,
  ],
  ['a plain array', [1, 2], /got a plain array$/],
  ['other numbers', { data: new Int16Array(4), rate: 8000 }, /expected a sound/],
  ['no channel', { data: [], rate: 8000 }, /expected a sound/],
  ['no samples', new Float32Array(0), /the sound has no samples/],
  ['channels of other lengths', { data: [new Float32Array(2), new Float32Array(3)], rate: 8000 }, /lengths: 2, 3/],
  ['NaN', Float32Array.of(0, Number.NaN), /sample 1 is NaN: replace it/],
  ['a rate that is none', { data: new Float32Array(2), rate: 44.1 }, /its rate must be .* from 1000 to 384000/],
  ['another rate', { data: new Float32Array(2), rate: '8000' }, /its rate must be/],
  ['a file in a worker', new Blob(['']), /files of sounds are decoded on a page alone, here pass \{ data, rate \}/],
]))
  test(`refused: ${what}`, async () => {
    await assert.rejects(() => taken({ x: value }), { name: 'TypeError', message: expected });
  });
