// One measurement: an engine is fetched and started, answers once, warms up, and is then timed.
import { fetchCase, largestError } from './case.js';

const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * @param {{ adapter: string, options: object, folder: string, warmup: number, runs: number, seconds: number }} job
 *   At most `seconds` are spent on runs, but three of them are made where there are so many. `began` is in ms since 1970.
 */
export async function measure({ adapter, options, folder, warmup, runs, seconds }) {
  const { inputs, outputs } = await fetchCase(folder);
  const start = performance.now();
  const { create } = await import(adapter);
  const engine = await create(folder, options);
  const created = performance.now();
  let results = await engine.run(inputs);
  const first = performance.now();
  const errors = [largestError(outputs, results)];
  for (let i = 0; i < warmup; i++) await engine.run(inputs);
  const times = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < runs && (times.length < 3 || performance.now() < end)) {
    await pause();
    const before = performance.now();
    results = await engine.run(inputs);
    times.push(performance.now() - before);
  }
  errors.push(largestError(outputs, results));
  return {
    began: performance.timeOrigin + start,
    start_ms: created - start,
    first_ms: first - created,
    times_ms: times,
    error: Math.max(...errors),
    facts: await engine.facts(),
    isolated: crossOriginIsolated,
  };
}
