// TensorFlow.js: core and one backend, running the operations that plan_tfjs.py wrote.
import { fetchBytes } from './case.js';

const PACKAGES = '/benchmarks/node_modules/@tensorflow';

function script(url) {
  return new Promise((resolve, reject) => {
    const element = document.createElement('script');
    element.src = url;
    element.onload = resolve;
    element.onerror = () => reject(new Error(`cannot load ${url}`));
    document.head.append(element);
  });
}

export async function create(folder, { threads, backend = 'wasm' }) {
  await script(`${PACKAGES}/tfjs-core/dist/tf-core.es2017.min.js`);
  await script(`${PACKAGES}/tfjs-backend-${backend}/dist/tf-backend-${backend}.es2017.min.js`);
  const { tf } = window;
  if (backend === 'wasm') setUpWasm(tf, threads);
  if (!(await tf.setBackend(backend))) throw new Error(`the ${backend} backend of TensorFlow.js does not start`);
  await tf.ready();
  const plan = await (await fetch(`${folder}/tfjs.json`)).json();
  const bytes = await fetchBytes(`${folder}/tfjs.bin`);
  const weights = new Map();
  for (const [name, { offset, shape, dtype }] of Object.entries(plan.weights)) {
    const length = shape.reduce((a, b) => a * b, 1);
    const data = new (dtype === 'int32' ? Int32Array : Float32Array)(bytes, offset, length);
    weights.set(name, tf.tensor(data, shape, dtype));
  }
  const lastUse = new Map();
  plan.steps.forEach((step, i) => {
    for (const name of step.in) lastUse.set(name, i);
  });
  const kept = new Set([...plan.inputs, ...plan.outputs].map(({ name }) => name));

  function inferAll(inputs) {
    const values = new Map(weights);
    for (const { name, last } of plan.inputs) {
      const { data, shape, dtype } = inputs.find((input) => input.name === name);
      const whole = dtype !== 'float32';
      const tensor = tf.tensor(whole ? Int32Array.from(data, Number) : data, shape, whole ? 'int32' : 'float32');
      values.set(name, last ? tf.transpose(tensor, [0, 2, 3, 1]) : tensor);
    }
    plan.steps.forEach((step, i) => {
      values.set(step.out, OPERATIONS[step.op](tf, step, ...step.in.map((name) => values.get(name))));
      for (const name of new Set(step.in)) {
        if (lastUse.get(name) === i && !weights.has(name) && !kept.has(name)) values.get(name).dispose();
      }
    });
    return plan.outputs.map(({ name, last }) => {
      const value = values.get(name);
      return last ? tf.transpose(value, [0, 3, 1, 2]) : value;
    });
  }

  return {
    async run(inputs) {
      const tensors = tf.tidy(() => inferAll(inputs));
      const results = {};
      for (let i = 0; i < tensors.length; i++) {
        results[plan.outputs[i].name] = await tensors[i].data();
        tensors[i].dispose();
      }
      return results;
    },
    facts: () => ({ version: tf.version_core, threads: threads > 1 ? tf.wasm.getThreadsCount() : 1 }),
  };
}

function setUpWasm(tf, threads) {
  // Its threaded build takes half of the logical processors, whatever number is set.
  if (threads > 1) Object.defineProperty(navigator, 'hardwareConcurrency', { value: 2 * threads, configurable: true });
  else tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  tf.wasm.setWasmPaths(`${PACKAGES}/tfjs-backend-wasm/dist/`);
  tf.wasm.setThreadsCount(threads);
}

const convolution = ({ strides, pad, activation }, x, filter, bias) => ({ x, filter, bias, strides, pad, activation });

const OPERATIONS = {
  conv: (tf, step, ...operands) => tf.fused.conv2d(convolution(step, ...operands)),
  depthwise: (tf, step, ...operands) => tf.fused.depthwiseConv2d(convolution(step, ...operands)),
  linear(tf, { shape }, x, b, bias) {
    const a = x.rank === 2 ? x : tf.reshape(x, [-1, b.shape[0]]);
    return tf.reshape(tf.fused.matMul({ a, b, bias }), shape);
  },
  maxPool: (tf, { kernel, strides, pad }, x) => tf.maxPool(x, kernel, strides, pad),
  averageAll: (tf, _, x) => tf.mean(x, [1, 2], true),
  matMul: (tf, _, a, b) => tf.matMul(a, b),
  add: (tf, _, a, b) => tf.add(a, b),
  sub: (tf, _, a, b) => tf.sub(a, b),
  mul: (tf, _, a, b) => tf.mul(a, b),
  div: (tf, _, a, b) => tf.div(a, b),
  relu: (tf, _, x) => tf.relu(x),
  sigmoid: (tf, _, x) => tf.sigmoid(x),
  erf: (tf, _, x) => tf.erf(x),
  tanh: (tf, _, x) => tf.tanh(x),
  sqrt: (tf, _, x) => tf.sqrt(x),
  exp: (tf, _, x) => tf.exp(x),
  clip: (tf, { low, high }, x) => tf.clipByValue(x, low, high),
  concat: (tf, { axis }, ...parts) => tf.concat(parts, axis),
  reshape: (tf, { shape }, x) => tf.reshape(x, shape),
  transpose: (tf, { order }, x) => tf.transpose(x, order),
  gather: (tf, { axis }, x, indices) => tf.gather(x, indices, axis),
  softmax: (tf, _, x) => tf.softmax(x),
  cast: (tf, _, x) => tf.cast(x, 'float32'),
  normalise(tf, { epsilon }, x, scale, shift) {
    const centred = tf.sub(x, tf.mean(x, -1, true));
    const deviation = tf.rsqrt(tf.add(tf.mean(tf.square(centred), -1, true), epsilon));
    return tf.add(tf.mul(tf.mul(centred, deviation), scale), shift);
  },
};
