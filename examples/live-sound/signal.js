// Sounds for those who have no microphone at hand: a hum like a voice, a whistle and a clap.

const SECONDS = 3;

/**
 * @param {number} rate
 * @returns {Promise<AudioBuffer>} that can be repeated
 */
export function renderSignal(rate) {
  const context = new OfflineAudioContext(1, SECONDS * rate, rate);
  const voice = new OscillatorNode(context, { type: 'sawtooth', frequency: 140 });
  voice.frequency.linearRampToValueAtTime(170, 1);
  for (const frequency of [600, 1400, 2600]) {
    const formant = new BiquadFilterNode(context, { type: 'bandpass', frequency, Q: 6 });
    voice.connect(formant).connect(swell(context, 0.1, 1, 0.4));
  }
  const whistle = new OscillatorNode(context, { frequency: 1200 });
  whistle.frequency.setValueAtTime(1200, 1.3);
  whistle.frequency.linearRampToValueAtTime(1900, 2);
  whistle.connect(swell(context, 1.3, 2, 0.25));
  const clap = new AudioBufferSourceNode(context, { buffer: noise(context, 0.1) });
  clap.connect(new BiquadFilterNode(context, { type: 'bandpass', frequency: 1600, Q: 1 })).connect(context.destination);
  for (const node of [voice, whistle]) node.start();
  clap.start(2.4);
  return context.startRendering();
}

/**
 * @param {BaseAudioContext} context
 * @param {number} from seconds
 * @param {number} to
 * @param {number} level
 */
function swell(context, from, to, level) {
  const gain = new GainNode(context, { gain: 0 });
  gain.gain.setValueAtTime(0, from);
  gain.gain.linearRampToValueAtTime(level, from + 0.05);
  gain.gain.setValueAtTime(level, to - 0.05);
  gain.gain.linearRampToValueAtTime(0, to);
  gain.connect(context.destination);
  return gain;
}

/**
 * Noise that fades.
 * @param {BaseAudioContext} context
 * @param {number} seconds
 */
function noise(context, seconds) {
  const { sampleRate } = context;
  const buffer = context.createBuffer(1, seconds * sampleRate, sampleRate);
  buffer.getChannelData(0).forEach((_, i, data) => {
    data[i] = (Math.random() * 2 - 1) * Math.exp(-i / (0.012 * sampleRate));
  });
  return buffer;
}
