// The first backend of the bundle that can run here.
import { DeviceLostError, ModelError, UnsupportedError } from '../errors.js';

/** @typedef {import('./load.js').Part} Part */
/** @typedef {import('../start_session.js').Session} Session */
/** @typedef {(part: Part & { hardware: boolean }, signal?: AbortSignal) => Promise<Session>} Start `hardware`: software adapters do not do */

/**
 * @param {readonly Part[]} parts in order of preference
 * @param {Start} start
 * @param {readonly { url: string }[]} weights that all parts need
 * @param {AbortSignal} [signal] ends the start
 * @returns {Promise<Session>}
 * @throws {UnsupportedError | import('../errors.js').ModelError} where none can: what the browser lacks, or the first file
 *   that a backend alone has need of and that did not arrive as it should
 */
export async function startFirst(parts, start, weights, signal = undefined) {
  /** @type {Map<Part['backend'], string>} why not */
  const reasons = new Map();
  /** @type {ModelError | undefined} */
  let faulty;
  // <canaries>
  /** @type {import('../model.js').KernelFault[]} of the backends that were given up */
  const failed = [];
  // </canaries>
  // A software adapter comes after wasm, and is tried again where wasm cannot run.
  const others = parts.some(({ backend }) => backend === 'wasm') && parts.length > 1;
  const attempts = parts.map((part) => ({ ...part, hardware: others && part.backend !== 'wasm' }));
  for (const part of attempts) {
    const { backend, hardware } = part;
    try {
      const session = await start(part, signal);
      reasons.delete(backend);
      const passedOver = [...reasons].map(([backend, reason]) => ({ backend, reason }));
      // <canaries>
      const own = /** @type {import('../model.js').CanaryInfo | undefined} */ (session.facts.canaries);
      if (failed.length)
        session.facts.canaries = { checked: 0, skipped: 0, ...own, failed: [...failed, ...(own?.failed ?? [])] };
      // </canaries>
      return { ...session, facts: { backend, passedOver, ...session.facts } };
    } catch (error) {
      if (!(error instanceof ModelError) || parts.length === 1 || signal?.aborted) throw error;
      // The next backend needs the weights, too, and after silence it would wait as long again.
      const own = error.file !== undefined && !weights.some(({ url }) => url === error.file);
      if (own) faulty ??= error;
      // A GPU that is lost again and again is of no use either.
      else if (!(error instanceof UnsupportedError || error instanceof DeviceLostError)) throw error;
      // <canaries>
      const { faults = [] } = /** @type {import('../errors.js').PlainError} */ (error);
      failed.push(...faults);
      // </canaries>
      reasons.set(backend, error.message);
      if (hardware && error.code === 'software') attempts.push({ ...part, hardware: false });
    }
  }
  if (faulty) throw faulty;
  const all = [...reasons].map(([backend, reason]) => `${backend}: ${reason}`).join('; ');
  throw new UnsupportedError('backend', `no backend of the bundle runs here; ${all}`);
}
