// Tokens of a decoder: ours, whose caches stay where they are, and onnxruntime-web's, through whose `run` they pass.
import { fetchBytes } from './case.js';
import { measureReading } from './profile.js';

const DIST = '/benchmarks/node_modules/onnxruntime-web/dist/';

/** Floats from -1 to 1. */
function noise(length) {
  const data = new Float32Array(length);
  let word = 12345;
  for (let i = 0; i < length; i++) {
    word = (Math.imul(word, 1664525) + 1013904223) | 0;
    data[i] = word / 2 ** 31;
  }
  return data;
}

/** The token of the largest logit of the last row. */
function likeliest(logits, words) {
  const last = logits.length - words;
  let best = 0;
  for (let i = 1; i < words; i++) if (logits[last + i] > logits[last + best]) best = i;
  return best;
}

async function startOurs({ bundle, backend, threads, worker, layers, heads, size }) {
  const { load } = await import(`${bundle}/model.js`);
  const model = await load({ backend, threads, worker });
  return {
    async begin(rows) {
      const saved = await model.saveState();
      for (let layer = 0; layer < layers; layer++)
        for (const role of ['key', 'value'])
          saved[`past_key_values.${layer}.${role}`] = {
            data: noise(heads * rows * size),
            shape: [1, heads, rows, size],
          };
      await model.loadState(saved);
    },
    async step(ids) {
      const results = await model.run({ input_ids: { data: BigInt64Array.from(ids, BigInt), shape: [1, ids.length] } });
      return results.token?.[0] ?? likeliest(results.logits, results.logits.length / ids.length);
    },
    facts: () => model.info(),
    dispose: () => model.dispose(),
  };
}

async function startTheirs({ model, backend, threads, layers, heads, size, words }) {
  const ort = await import(`${DIST}ort.${backend}.min.mjs`);
  ort.env.wasm.wasmPaths = new URL(DIST, location.href).href;
  ort.env.wasm.numThreads = threads;
  ort.env.logLevel = 'error';
  const session = await ort.InferenceSession.create(new Uint8Array(await fetchBytes(model)), {
    executionProviders: [backend],
    graphOptimizationLevel: 'all',
  });
  const names = Array.from({ length: layers }, (_, i) => [`${i}.key`, `${i}.value`]).flat();
  let position = 0;
  let past = {};
  return {
    async begin(rows) {
      position = rows;
      past = Object.fromEntries(
        names.map((name) => [
          `past_key_values.${name}`,
          new ort.Tensor('float32', noise(heads * rows * size), [1, heads, rows, size]),
        ]),
      );
    },
    async step(ids) {
      const integers = (length, of) => BigInt64Array.from({ length }, (_, i) => BigInt(of(i)));
      const end = position + ids.length;
      const results = await session.run({
        input_ids: new ort.Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]),
        position_ids: new ort.Tensor(
          'int64',
          integers(ids.length, (i) => position + i),
          [1, ids.length],
        ),
        attention_mask: new ort.Tensor(
          'int64',
          integers(end, () => 1),
          [1, end],
        ),
        ...past,
      });
      const token = likeliest(await results.logits.getData(), words);
      for (const name of names) past[`past_key_values.${name}`] = results[`present.${name}`];
      position = end;
      return token;
    },
    facts: () => ({ version: ort.env.versions.web }),
    dispose: () => session.release(),
  };
}

/**
 * Milliseconds of each step of one engine, by the rows before it; of a prompt of so many tokens; what it was; and, by
 * rows, the time in which the processor reads as many bytes as a step.
 */
export async function decode(job) {
  const engine = await (job.bundle ? startOurs(job) : startTheirs(job));
  const steps = {};
  const tokens = [];
  await engine.begin(0);
  for (let i = 0; i < job.tokens; i++) tokens.push(await engine.step([tokens.at(-1) ?? 5]));
  for (const rows of job.positions) {
    steps[rows] = [];
    await engine.begin(rows);
    for (let i = 0; i < job.steps + job.warmup; i++) {
      const start = performance.now();
      await engine.step([i + 7]);
      if (i >= job.warmup) steps[rows].push(performance.now() - start);
    }
  }
  const prompts = [];
  const ids = Array.from({ length: job.prompt }, (_, i) => (i * 37) % job.words);
  for (let i = 0; i < job.prompts + 1; i++) {
    await engine.begin(0);
    const start = performance.now();
    for (let first = 0; first < ids.length; first += job.longest)
      await engine.step(ids.slice(first, first + job.longest));
    if (i) prompts.push(performance.now() - start);
  }
  const facts = engine.facts();
  await engine.dispose();
  const floors = {};
  for (const rows in job.reads) floors[rows] = await measureReading(job.reads[rows]);
  return { tokens, steps, prompts, facts, floors };
}
