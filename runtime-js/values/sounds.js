// Sounds as inputs: what a page records, decodes or has in files becomes samples of one channel, at the rate of the model.

import { kindOf } from './check_names.js';

/** @typedef {import('./sizes.js').Spec} Spec */
/** @typedef {{ data: Float32Array, shape: number[] }} Samples */
/** @typedef {{ channels: Float32Array[], rate: number }} Sound */

const RATES = /** @type {const} */ ([1000, 384000]);

/**
 * A run with samples in place of sounds. It begins at once, unless a file has to be decoded.
 * @template T
 * @param {readonly Spec[]} specs
 * @param {any} inputs
 * @param {(inputs: any) => Promise<T>} run
 * @param {readonly import('./sizes.js').Dimension[]} dimensions
 * @returns {Promise<T>}
 * @throws {TypeError} what is no sound, or cannot be read
 */
async function using(specs, inputs, run, dimensions) {
  if (kindOf(inputs) !== 'an object') return run(inputs);
  /** @type {Record<string, Samples>} */
  const taken = {};
  for (const { name, sound: rate, shape } of specs) {
    if (rate === undefined || !Object.hasOwn(inputs, name)) continue;
    const label = `input ${JSON.stringify(name)}`;
    const kind = kindOf(inputs[name]);
    const sound = /^(Blob|File)$/.test(kind)
      ? await decoded(label, inputs[name], rate)
      : soundOf(label, kind, inputs[name], rate);
    if (!sound) continue;
    // The size of an input of samples is a dimension.
    const { least, most, multiple } = /** @type {import('./sizes.js').Dimension} */ (
      dimensions.find((one) => one.name === /** @type {{ text: string }} */ (shape[0]).text)
    );
    const samples = resampled(mixed(label, sound.channels), sound.rate, rate, most);
    const length = Math.max(least, Math.ceil(samples.length / multiple) * multiple);
    const data = length > samples.length ? new Float32Array(length) : samples;
    if (data !== samples) data.set(samples);
    taken[name] = { data, shape: [data.length] };
  }
  return run({ ...inputs, ...taken });
}

/**
 * @param {string} label
 * @param {string} kind
 * @param {any} value
 * @param {number} own the model's rate
 * @returns {Sound | undefined} undefined for what is on the device
 */
function soundOf(label, kind, value, own) {
  if (kind === 'AudioBuffer') {
    const { numberOfChannels: length, sampleRate: rate } = value;
    return { channels: Array.from({ length }, (_, i) => value.getChannelData(i)), rate };
  }
  const data = kind === 'an object' ? value.data : value;
  const channels = Array.isArray(data) ? data : [data];
  if (/^GPU/.test(kindOf(data))) return undefined;
  if (kind === 'a plain array' || !channels.length || channels.some((one) => kindOf(one) !== 'Float32Array'))
    throw new TypeError(
      `${label}: expected a sound (AudioBuffer or Blob), { data, rate } with the samples in a Float32Array, or in one for each \
channel, or a Float32Array of ${own} samples in a second, got ${kind}`,
    );
  const { rate = own } = kind === 'an object' ? value : {};
  if (!Number.isInteger(rate) || rate < RATES[0] || rate > RATES[1])
    throw new TypeError(`${label}: its rate must be a whole number of samples in a second, from ${RATES.join(' to ')}`);
  return { channels, rate };
}

/**
 * @param {string} label
 * @param {Blob} file
 * @param {number} own
 * @returns {Promise<Sound | undefined>}
 */
async function decoded(label, file, own) {
  if (typeof OfflineAudioContext !== 'function')
    throw new TypeError(`${label}: files of sounds are decoded on a page alone, here pass { data, rate }`);
  const bytes = await file.arrayBuffer();
  // A browser decodes to the rate of a context: that of a WAV file itself, so that all browsers have the same samples.
  const wav = bytes.byteLength > 28 && new DataView(bytes).getUint32(0) === 0x52494646; // RIFF
  const rate = wav ? new DataView(bytes).getUint32(24, true) : own;
  try {
    const context = new OfflineAudioContext(1, 1, Math.min(Math.max(rate, 8000), 96000));
    return soundOf(label, 'AudioBuffer', await context.decodeAudioData(bytes), own);
  } catch (error) {
    throw new TypeError(`${label}: the file is no sound that can be decoded here (${error})`);
  }
}

/**
 * The mean of channels.
 * @param {string} label
 * @param {Float32Array[]} channels
 */
function mixed(label, channels) {
  const [first = new Float32Array()] = channels;
  const { length } = first;
  if (!length) throw new TypeError(`${label}: the sound has no samples`);
  if (channels.some((one) => one.length !== length))
    throw new TypeError(
      `${label}: its channels have different lengths: ${channels.map((one) => one.length).join(', ')}`,
    );
  const result = channels.length > 1 ? new Float32Array(length) : first;
  for (let i = 0; i < length; i++) {
    let sum = 0;
    for (const channel of channels) sum += /** @type {number} */ (channel[i]);
    if (!Number.isFinite(sum)) throw new TypeError(`${label}: sample ${i} is ${sum}: replace it`);
    if (result !== first) result[i] = sum / channels.length;
  }
  return result;
}

const CROSSINGS = 6;
const ROLLOFF = 0.99;

/** @type {Map<string, { width: number, factors: Float64Array }>} by the ratio of rates */
const filters = new Map();

/**
 * @param {number} a
 * @param {number} b samples that become of `a`; they have no common divisor
 */
function filterOf(a, b) {
  const key = `${a}/${b}`;
  let filter = filters.get(key);
  if (!filter) {
    const share = (Math.min(a, b) * ROLLOFF) / a; // of the band
    const width = Math.ceil(CROSSINGS / share);
    const taps = 2 * width + 1;
    const factors = new Float64Array(b * taps);
    for (let phase = 0; phase < b; phase++)
      for (let tap = 0; tap < taps; tap++) {
        const t = Math.PI * Math.max(-CROSSINGS, Math.min((tap - width - phase / b) * share, CROSSINGS));
        const sinc = t ? Math.sin(t) / t : 1;
        factors[phase * taps + tap] = sinc * Math.cos(t / CROSSINGS / 2) ** 2 * share;
      }
    filter = { width, factors };
    filters.set(key, filter);
  }
  return filter;
}

/**
 * Samples at another rate, at most so many: a sinc of six zero crossings under Hann's window, as the compiler's `resample`.
 * @param {Float32Array} samples
 * @param {number} rate
 * @param {number} to
 * @param {number} most
 */
export function resampled(samples, rate, to, most) {
  if (rate === to) return samples.subarray(0, most);
  const divisor = gcd(rate, to);
  const [a, b] = [rate / divisor, to / divisor];
  const { width, factors } = filterOf(a, b);
  const result = new Float32Array(Math.min(Math.ceil((samples.length * b) / a), most));
  for (let i = 0; i < result.length; i++) {
    const at = Math.floor((i * a) / b);
    const first = Math.max(at - width, 0);
    const last = Math.min(at + width, samples.length - 1);
    const phase = (i * a - at * b) * (2 * width + 1) + width - at;
    let sum = 0;
    for (let j = first; j <= last; j++)
      sum += /** @type {number} */ (samples[j]) * /** @type {number} */ (factors[phase + j]);
    result[i] = sum;
  }
  return result;
}

/**
 * @param {number} a
 * @param {number} b
 * @returns {number}
 */
const gcd = (a, b) => (b ? gcd(b, a % b) : a);

export const sounds = { using };
