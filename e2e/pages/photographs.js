// Gives a test what the bundle exports, and a way from a photograph to the network's answer.
import { load } from './bundle/model.js';
import { preprocess } from './preprocess.js';

/** The names of the files -> the class that scores highest for each, and how the model ran. */
globalThis.classify = async (names, backend) => {
  const model = await load({ backend });
  const [input] = model.inputs;
  const [output] = model.outputs;
  const top1 = {};
  for (const name of names) {
    const scores = (await model.run({ [input.name]: await preprocess(`./photos/${name}`) }))[output.name];
    top1[name] = scores.indexOf(scores.reduce((a, b) => Math.max(a, b)));
  }
  await model.dispose();
  return { top1, info: model.info() };
};
document.documentElement.dataset.ready = '';
