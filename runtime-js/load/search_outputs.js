// What is not finite in the outputs of a run on a GPU.
import * as optional from './optional.js';

/**
 * Runs of which each is searched.
 * @param {import('../verify/non_finite.js').Watch} watch
 * @param {import('../verify/non_finite.js').Search | undefined} compare where runs are compared besides
 * @param {() => Promise<typeof import('../verify/verify_runs.js')>} loadVerifier
 * @returns {import('../verify/non_finite.js').Search}
 */
export function searchOutputs(watch, compare, loadVerifier) {
  const { manifest, info } = watch;
  /** @type {(what: string) => Promise<typeof import('../verify/verify_runs.js') | undefined>} nothing where it cannot be had, now or later */
  const verifierFor = (what) =>
    loadVerifier().catch(({ message }) => {
      if (watch.on) console.warn(`${what}: ${message}`);
      watch.on = false;
      info.verified ??= { every: 0, runs: 0, largest: 0, nonFinite: 'unchecked' };
      return undefined;
    });
  return async (turn, run) => {
    const held = watch.hold?.(turn.data);
    const results = await (compare?.(turn, run) ?? run(turn.data));
    // <buffers>
    if (watch.on && turn.output === 'gpu-buffer')
      await (await verifierFor('outputs may have NaN or infinities'))?.search(watch, turn, results, held);
    // </buffers>
    const spec = watch.on && manifest.outputs.find((spec, i) => optional.hasNonFinite(spec, results[i]));
    if (spec) {
      const verifier = await verifierFor(`output ${JSON.stringify(spec.name)} has NaN or infinities`);
      await verifier?.judge(watch, turn, results, held);
    }
    return results;
  };
}
