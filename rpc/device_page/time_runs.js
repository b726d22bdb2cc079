// Times runs of a model from outside.

import { resolution } from './browser_facts.js';

/** @typedef {import('../../runtime-js/model.js').Model} Model */
/** @typedef {Pick<Model, 'run'> & { reset?: Model['reset'] }} Runs of a model, or of a session of one with states */

/** Length of a measurement in units of the timer's resolution: it then errs by at most 1%. */
const RESOLUTIONS = 100;
const MOST_IN_BATCH = 10_000;

/**
 * Milliseconds of a run, `repeat` times: each the mean of as many runs as the timer's resolution requires. With states
 * all are runs of a session of their own, of which each finds it empty.
 * @param {Pick<Model, 'run'> & { session?: Model['session'] }} model
 * @param {any} inputs
 * @param {number} repeat
 * @param {number} warmup
 */
export async function timeRuns(model, inputs, repeat, warmup) {
  const session = await model.session?.();
  try {
    return await time(session ?? model, inputs, repeat, warmup);
  } finally {
    await session?.dispose();
  }
}

/**
 * @param {Runs} model
 * @param {any} inputs
 * @param {number} repeat
 * @param {number} warmup
 */
async function time(model, inputs, repeat, warmup) {
  await measure(model, inputs, warmup);
  const least = RESOLUTIONS * resolution();
  let runs = 1;
  let elapsed = await measure(model, inputs, runs);
  while (elapsed < least && runs < MOST_IN_BATCH) {
    runs = Math.min(MOST_IN_BATCH, Math.ceil(runs * Math.max(2, least / Math.max(elapsed, least / 10))));
    elapsed = await measure(model, inputs, runs);
  }
  const times = [];
  for (let i = 0; i < repeat; i++) times.push((await measure(model, inputs, runs)) / runs);
  return { times, runs };
}

/**
 * @param {Runs} model
 * @param {any} inputs
 * @param {number} runs
 */
async function measure(model, inputs, runs) {
  const start = performance.now();
  let besides = 0;
  for (let i = 0; i < runs; i++) {
    if (model.reset) {
      const begin = performance.now();
      await model.reset();
      besides += performance.now() - begin;
    }
    await model.run(inputs);
  }
  return performance.now() - start - besides;
}
