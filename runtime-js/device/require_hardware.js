// Adapters that browsers do not name: a timed launch says whether they are software.
import { UnsupportedError } from '../errors.js';
import { AFTER, refuseSoftware } from './software_adapter.js';

const makers =
  /\b(nvidia|geforce|amd|ati|radeon|intel|apple|arm|mali|qualcomm|adreno|powervr|imagination|img-tec|samsung|xclipse|broadcom|v3d|videocore)\b/i;

/**
 * The most that a launch may take, of at most MOST units, each 2^20 loads of four floats. GPUs do at least 1e9 of those
 * in a second, so all of it in 34 ms and most in 5; software does about 5e7 on each core. Browsers that hide the name may
 * round times to 17 ms, which is why it is not less.
 */
const LIMIT_MS = 50;
const MOST = 32;

/** @typedef {{ launch: (units: number) => Promise<unknown>, dispose: () => void }} Trial resolves when the GPU is done */

/** Then browsers delay timers up to a second each, and with them the end of a launch. */
const isHidden = () => globalThis.document?.visibilityState === 'hidden';

/**
 * @param {string} adapter
 * @param {() => Trial | Promise<Trial>} prepare for adapters that the browser does not name
 * @param {() => number} [now] ms
 * @param {() => boolean} [hidden] whether the page is: then no launch says how fast the adapter is, and it is taken
 * @throws {UnsupportedError} `software`
 */
export async function requireHardware(adapter, prepare, now = () => performance.now(), hidden = isHidden) {
  refuseSoftware(adapter);
  if (makers.test(adapter) || hidden()) return;
  const slow = await findSlow(prepare, now, hidden).catch(() => {}); // the start itself shows whether the adapter works
  if (slow) throw new UnsupportedError('software', `the adapter (${adapter}) ${slow}: ${AFTER}`);
}

/**
 * In words, or undefined for an adapter that is fast.
 * @param {() => Trial | Promise<Trial>} prepare
 * @param {() => number} now
 * @param {() => boolean} hidden
 */
async function findSlow(prepare, now, hidden) {
  const trial = await prepare();
  try {
    await trial.launch(1); // the first one includes the compiling of the shader
    // Twice as much each time, so that a slow adapter is found out soon; one launch alone may have waited for others.
    for (let units = 1, slow = 0; units <= MOST; units *= slow ? 1 : 2) {
      const began = now();
      await trial.launch(units);
      const ms = now() - began;
      if (hidden()) return undefined;
      slow = ms > LIMIT_MS ? slow + 1 : 0;
      if (slow === 3) return `is as slow as software: a launch takes ${Math.round(ms)} ms, on GPUs below ${LIMIT_MS}`;
    }
    return undefined;
  } finally {
    trial.dispose();
  }
}
