// What is not finite in the outputs of a run on a GPU.
import { arrived } from './arrived.js';
import * as optional from './optional.js';

/**
 * Runs of which each is searched.
 * @param {import('../verify/non_finite.js').Watch} watch
 * @param {import('../verify/non_finite.js').Search | undefined} compare where runs are compared besides
 * @param {() => Promise<typeof import('../verify/verify_runs.js')>} loadVerifier
 * @param {number} timeout
 * @returns {import('../verify/non_finite.js').Search}
 */
export function searchOutputs(watch, compare, loadVerifier, timeout) {
  const { manifest, info } = watch;
  /** @type {<T>(what: string, script: Promise<T>) => Promise<T | undefined>} undefined where a script cannot be had, now or later */
  const unlessLost = (what, script) =>
    script.catch(({ message }) => {
      if (!watch.on) return undefined;
      watch.on = false;
      info.verified = { every: 0, runs: 0, largest: 0, nonFinite: 'unchecked' };
      console.warn(`${what}: ${message}`);
      return undefined;
    });
  return async (turn, run) => {
    // <buffers>
    watch.late?.();
    // </buffers>
    const held = watch.hold?.(turn.data);
    const results = await (compare?.(turn, run) ?? run(turn.data));
    // <buffers>
    if (watch.on && turn.output === 'gpu-buffer') {
      const what = 'NaN or infinities in outputs that stay on the device';
      const script = await unlessLost(what, arrived('the search', import('../verify/search_buffers.js'), timeout));
      await script?.search(watch, turn, results, held, () => unlessLost(what, loadVerifier()));
    }
    // </buffers>
    const spec = watch.on && manifest.outputs.find((spec, i) => optional.hasNonFinite(spec, results[i]));
    if (spec) {
      const verifier = await unlessLost(`output ${JSON.stringify(spec.name)} has NaN or infinities`, loadVerifier());
      await verifier?.judge(watch, turn, results, held);
    }
    return results;
  };
}
