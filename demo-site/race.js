// Candidates for a kernel, side by side in one program: times of each, in turns, and whether they compute the same.

/** @typedef {import('../runtime-js/model.js').Model} Model */
/** @typedef {import('../runtime-js/model.js').Inputs} Inputs */

const ROUNDS = 15;
/** Milliseconds of one batch of a candidate, a hundred times the resolution of a browser's clock, unless all of them take longer
 * than LONGEST, or it is more than MOST launches. */
const BATCH = 10;
const LONGEST = 400;
const MOST = 2000;

/** Results differ by less, in units of the largest one: sums are in another order. */
const TOLERANCE = 1e-4;

/**
 * @param {Model} model
 * @param {(milliseconds: number[]) => void} show receives the least time so far of a launch of each candidate: other
 *   programs only add to it
 * @returns {Promise<boolean[]>} by candidate, whether its results are those of the first one
 */
export async function race(model, show) {
  const inputs = randomInputs(model);
  const equal = compare(await model.run(inputs));
  const repeat = await findBatch(model, inputs);
  let least = equal.map(() => Number.POSITIVE_INFINITY);
  for (let round = 0; round < ROUNDS; round++) {
    const times = await launch(model, inputs, repeat);
    least = least.map((time, i) => Math.min(time, times[i] ?? time));
    show(least);
  }
  return equal;
}

/**
 * @param {Model} model
 * @param {Inputs} inputs
 * @param {number} repeat
 * @returns {Promise<number[]>} milliseconds of a launch, by candidate
 */
async function launch(model, inputs, repeat) {
  /** @type {number[]} */
  const times = [];
  for (const { name, ms } of await model.profile(inputs, { repeat })) {
    const [, candidate] = /^c(\d+)_\d+$/.exec(name) ?? []; // others are copies, or launches to warm up
    if (candidate !== undefined) times[Number(candidate)] = (times[Number(candidate)] ?? 0) + ms;
  }
  return times;
}

/**
 * @param {Model} model
 * @param {Inputs} inputs
 */
async function findBatch(model, inputs) {
  let repeat = 1;
  for (;;) {
    const times = await launch(model, inputs, repeat);
    const whole = times.reduce((a, b) => a + b, 0) * repeat;
    if (Math.min(...times) * repeat >= BATCH || 2 * whole > LONGEST || 2 * repeat > MOST) return repeat;
    repeat *= 2;
  }
}

/**
 * From -1 to 1.
 *
 * @param {Model} model
 * @returns {Inputs}
 */
function randomInputs(model) {
  return Object.fromEntries(
    model.inputs.map(({ name, shape }) => {
      const size = shape.map(Number).reduce((a, b) => a * b, 1);
      return [name, Float32Array.from({ length: size }, () => 2 * Math.random() - 1)];
    }),
  );
}

/** @param {Readonly<Record<string, unknown>>} outputs `0_name` is the first candidate's */
function compare(outputs) {
  const results = Object.entries(outputs).map(([name, values]) => {
    if (!(values instanceof Float32Array)) throw new Error(`the kernel's result ${name} is not float32`);
    return { candidate: Number.parseInt(name, 10), values };
  });
  results.sort((a, b) => a.candidate - b.candidate);
  const first = results[0]?.values ?? new Float32Array();
  const largest = first.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return results.map(({ values }) => values.every((v, i) => Math.abs(v - (first[i] ?? 0)) <= TOLERANCE * largest));
}
