// Writes models by TensorFlow.js, each a folder with model.json, its shard, and inputs and outputs (run.json).
//
//     npm install --no-save @tensorflow/tfjs
//     node tests/tfjs_models/make_models.mjs FOLDER [whole|layers]
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tf from '@tensorflow/tfjs';

const [, , folder, which = 'whole'] = process.argv;
const { layers } = tf;
const IMAGE = [7, 9, 3];
const SEQUENCE = [6, 5];
const BATCH = 2;

let state = 1;
/** Multiples of 1/64 from `low` to `high`, the same in each run. */
function random(shape, low, high) {
  const next = () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return state / 2 ** 31;
  };
  const count = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Float32Array.from({ length: count }, () => Math.round((low + (high - low) * next()) * 64) / 64), shape);
}

const listed = (tensors) =>
  [tensors].flat().map((t) => ({ shape: t.shape, data: [...t.dataSync()].map((v) => Number(v.toPrecision(8))) }));

/** Statistics, biases and scales are not those of a new model; variances are positive. */
async function save(name, model, shapes, isIndex = false) {
  model.setWeights(
    model.weights.map(({ name, shape }) => (/variance|gamma/.test(name) ? random(shape, 0.4, 1.6) : random(shape, -1, 1))),
  );
  const inputs = shapes.map((shape) => (isIndex ? random(shape, 0, 4).floor() : random(shape, -2, 2)));
  const outputs = model.predict(inputs.length === 1 ? inputs[0] : inputs);
  const to = join(folder, name);
  mkdirSync(to, { recursive: true });
  const handler = tf.io.withSaveHandler(async ({ modelTopology, format, generatedBy, weightSpecs, weightData }) => {
    const weightsManifest = [{ paths: ['./model.weights.bin'], weights: weightSpecs }];
    writeFileSync(join(to, 'model.json'), JSON.stringify({ modelTopology, format, generatedBy, weightsManifest }));
    writeFileSync(join(to, 'model.weights.bin'), Buffer.from([weightData].flat()[0]));
    return { modelArtifactsInfo: {} };
  });
  await model.save(handler);
  writeFileSync(join(to, 'run.json'), JSON.stringify({ inputs: listed(inputs), outputs: listed(outputs) }));
}

/** A classifier as MobileNetV2: inverted residuals, and weights that are not trained between those that are. */
async function mobile() {
  const image = tf.input({ shape: [13, 13, 3], name: 'image' });
  const normal = (x) => layers.batchNormalization({ epsilon: 0.01 }).apply(x);
  const relu6 = (x) => layers.reLU({ maxValue: 6 }).apply(normal(x));
  const conv = (x, filters, kernelSize, strides = 1) =>
    layers.conv2d({ filters, kernelSize, strides, padding: 'same', useBias: false }).apply(x);
  const start = relu6(conv(image, 6, 3, 2));
  const depthwise = layers.depthwiseConv2d({ kernelSize: 3, padding: 'same', useBias: false });
  const block = normal(conv(relu6(depthwise.apply(relu6(conv(start, 12, 1)))), 6, 1));
  const pooled = layers.globalAveragePooling2d({}).apply(layers.add().apply([start, block]));
  const scores = layers.dense({ units: 5, activation: 'softmax', name: 'scores' }).apply(pooled);
  await save('mobile', tf.model({ inputs: image, outputs: scores }), [[1, 13, 13, 3]]);
}

/** A layer and a model that are called twice, and two outputs. */
async function several() {
  const [a, b] = ['a', 'b'].map((name) => tf.input({ shape: [5], name }));
  const shared = layers.dense({ units: 4, activation: 'tanh', name: 'shared' });
  const inner = tf.sequential({
    name: 'inner',
    layers: [layers.dense({ units: 3, inputShape: [4], name: 'one' }), layers.dense({ units: 3, name: 'two' })],
  });
  const both = [a, b].map((x) => inner.apply(shared.apply(x)));
  const kinds = ['add', 'multiply', 'average', 'maximum', 'minimum', 'concatenate'];
  const merged = layers.concatenate({ name: 'merged' }).apply(kinds.map((kind) => layers[kind]().apply(both)));
  const dot = layers.dot({ axes: -1, name: 'dot' }).apply(both);
  await save('several', tf.model({ inputs: [a, b], outputs: [merged, dot] }), [[2, 5], [2, 5]]);
}

/** Words by their numbers, through recurrent layers in both directions. */
async function words() {
  const model = tf.sequential({
    layers: [
      layers.embedding({ inputDim: 5, outputDim: 4, inputLength: 6 }),
      layers.bidirectional({ layer: layers.lstm({ units: 3, returnSequences: true }), mergeMode: 'concat' }),
      layers.timeDistributed({ layer: layers.dense({ units: 3, activation: 'relu' }) }),
      layers.gru({ units: 3, goBackwards: true }),
      layers.dense({ units: 2, activation: 'hardSigmoid' }),
    ],
  });
  await save('words', model, [[2, 6]], true);
}

/** Words of which some are masked: in front, between and behind; the last layers are cells on each other. */
async function masked() {
  const model = tf.sequential({
    layers: [
      layers.embedding({ inputDim: 4, outputDim: 3, inputLength: 7, maskZero: true }),
      layers.bidirectional({ layer: layers.lstm({ units: 3, returnSequences: true }), mergeMode: 'concat' }),
      layers.gru({ units: 3, returnSequences: true, goBackwards: true }),
      layers.rnn({ cell: [layers.lstmCell({ units: 3 }), layers.gruCell({ units: 2 })], returnSequences: true }),
    ],
  });
  await save('masked', model, [[8, 7]], true);
}

/** Frames, and states of images. */
async function frames() {
  const model = tf.sequential({
    layers: [
      layers.convLstm2d({ filters: 2, kernelSize: [3, 2], strides: 2, returnSequences: true, inputShape: [3, 7, 6, 2] }),
      layers.convLstm2d({ filters: 2, kernelSize: 2, padding: 'same', goBackwards: true }),
    ],
  });
  await save('frames', model, [[2, 3, 7, 6, 2]]);
}

/** The layers of a model by its name, and the shape of its input without the batch. */
function* rows() {
  const activations = ['elu', 'gelu', 'gelu_new', 'hardSigmoid', 'linear', 'logSoftmax', 'mish', 'relu', 'relu6', 'selu'];
  for (const activation of [...activations, 'sigmoid', 'softmax', 'softplus', 'softsign', 'swish', 'tanh'])
    yield [activation, [layers.dense({ units: 4 }), layers.activation({ activation })], [5]];
  yield ['conv1d', [layers.conv1d({ filters: 4, kernelSize: 3, dilationRate: 2 })], SEQUENCE];
  yield ['conv2d', [layers.conv2d({ filters: 4, kernelSize: 3, strides: 2, padding: 'same', activation: 'relu6' })], IMAGE];
  yield ['conv2d_first', [layers.conv2d({ filters: 4, kernelSize: 3, dataFormat: 'channelsFirst' })], [3, 7, 9]];
  yield ['conv2d_dilated', [layers.conv2d({ filters: 4, kernelSize: [2, 3], dilationRate: 2, useBias: false })], IMAGE];
  yield ['conv3d', [layers.conv3d({ filters: 2, kernelSize: 2 })], [4, 5, 3, 2]];
  yield ['transposed', [layers.conv2dTranspose({ filters: 4, kernelSize: 3, strides: 2, padding: 'same' })], IMAGE];
  yield ['depthwise', [layers.depthwiseConv2d({ kernelSize: 3, depthMultiplier: 2, padding: 'same' })], IMAGE];
  yield ['separable', [layers.separableConv2d({ filters: 5, kernelSize: 3, depthMultiplier: 2 })], IMAGE];
  yield ['normalised', [layers.batchNormalization({ epsilon: 0.01 }), layers.layerNormalization()], IMAGE];
  for (const kind of ['max', 'average']) {
    yield [`${kind}_2d`, [layers[`${kind}Pooling2d`]({ poolSize: 3, strides: 2, padding: 'same' })], IMAGE];
    yield [`${kind}_1d`, [layers[`${kind}Pooling1d`]({ poolSize: 2 })], SEQUENCE];
  }
  for (const kind of ['globalAverage', 'globalMax']) {
    yield [`${kind}_2d`, [layers[`${kind}Pooling2d`]({})], IMAGE];
    yield [`${kind}_1d`, [layers[`${kind}Pooling1d`]({})], SEQUENCE];
  }
  yield ['padding', [layers.zeroPadding2d({ padding: [[1, 2], [0, 3]] }), layers.cropping2D({ cropping: [[1, 0], [2, 1]] })], IMAGE];
  yield ['nearest', [layers.upSampling2d({ size: [2, 3] })], IMAGE];
  yield ['bilinear', [layers.upSampling2d({ size: [2, 3], interpolation: 'bilinear' })], IMAGE];
  yield ['slopes', [layers.leakyReLU({ alpha: 0.2 }), layers.prelu(), layers.elu(), layers.thresholdedReLU({ theta: 0.3 })], [5]];
  yield ['softmax_layer', [layers.leakyReLU(), layers.softmax({ axis: -1 })], [5]];
  yield ['shapes', [layers.flatten(), layers.reshape({ targetShape: [9, 21] }), layers.permute({ dims: [2, 1] })], IMAGE];
  yield ['repeated', [layers.repeatVector({ n: 3 })], [5]];
  yield ['training', [layers.dropout({ rate: 0.5 }), layers.gaussianNoise({ stddev: 1 }), layers.alphaDropout({ rate: 0.2 })], SEQUENCE];
  for (const kind of ['lstm', 'gru', 'simpleRNN']) {
    const steps = { units: 3, returnSequences: true };
    yield [kind, [layers[kind](steps)], SEQUENCE];
    yield [`${kind}_last`, [layers[kind]({ units: 4, goBackwards: true })], SEQUENCE];
    for (const mergeMode of ['concat', 'sum'])
      yield [`${kind}_${mergeMode}`, [layers.bidirectional({ layer: layers[kind](steps), mergeMode })], SEQUENCE];
  }
  yield ['masked_mean', [layers.embedding({ inputDim: 5, outputDim: 3, maskZero: true }), layers.globalAveragePooling1d({})], [6], true];
  yield ['cell', [layers.rnn({ cell: layers.gruCell({ units: 3 }), returnSequences: true })], SEQUENCE];
  const cells = [layers.lstmCell({ units: 4 }), layers.simpleRNNCell({ units: 3 }), layers.lstmCell({ units: 2 })];
  yield ['cells', [layers.rnn({ cell: cells })], SEQUENCE];
  yield ['conv_lstm', [layers.convLstm2d({ filters: 3, kernelSize: 3, strides: 2 })], [4, 7, 6, 2]];
  yield ['conv_lstm_every', [layers.convLstm2d({ filters: 3, kernelSize: 3, padding: 'same', returnSequences: true })], [4, 7, 6, 2]];
  const masked = layers.embedding({ inputDim: 5, outputDim: 3, maskZero: true });
  for (const kind of ['lstm', 'gru', 'simpleRNN']) {
    const layer = layers[kind]({ units: 3, returnSequences: true });
    yield [`${kind}_masked`, [masked, layers[kind]({ units: 3, returnSequences: true, goBackwards: true })], [6], true];
    yield [`${kind}_masked_both`, [masked, layers.bidirectional({ layer, mergeMode: 'concat' }), layers[kind]({ units: 2 })], [6], true];
  }
  yield ['rescaled', [layers.rescaling({ scale: 0.1, offset: -1 })], IMAGE];
  yield ['constrained', [layers.dense({ units: 3, kernelRegularizer: 'l1l2', kernelConstraint: 'maxNorm', trainable: false })], [5]];
  const input = tf.input({ shape: [4] });
  const inside = tf.model({ inputs: input, outputs: layers.dense({ units: 3 }).apply(input) });
  yield ['nested', [layers.dense({ units: 4 }), inside, tf.sequential({ layers: [layers.dense({ units: 2, inputShape: [3] })] })], [5]];
}

if (which === 'whole') for (const make of [mobile, several, words, masked, frames]) await make();
else
  for (const [name, found, shape, isIndex] of rows()) {
    const model = tf.sequential({ layers: [layers.inputLayer({ inputShape: shape }), ...found] });
    await save(name, model, [[BATCH, ...shape]], isIndex);
  }
