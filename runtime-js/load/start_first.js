// The first backend of the bundle that can run here.
import { DeviceLostError, ModelError, UnsupportedError } from '../errors.js';

/** @typedef {import('../fetch/fetch_file.js').FileSpec} FileSpec */
/** @typedef {import('../wasm/start_wasm.js').TensorSpec} TensorSpec */
/**
 * @typedef {object} Manifest What the compiler wrote into model.js.
 * @property {number} abi
 * @property {string} name
 * @property {TensorSpec[]} inputs
 * @property {TensorSpec[]} outputs
 * @property {import('../values/sizes.js').Dimension[]} [dimensions] that each run decides
 * @property {import('../values/sizes.js').Refusal[]} [refusals]
 * @property {import('../start_session.js').StateSpec[]} [states] what runs find as those before have left it
 * @property {TensorSpec[]} [measured] outputs that the runtime alone reads: sizes of states that a run computes
 * @property {FileSpec[]} [tokenizers] for text
 * @property {import('../texts/texts.js').TextSpec} [text] that runs take in place of inputs
 * @property {import('../answers/answers.js').AnswerSpec[]} [answers] that runs return in place of outputs
 * @property {import('../generate/generate.js').GenerateSpec} [generate] how runs give tokens
 * @property {{ url: string }} [signature] of the list of files
 * @property {number} [tolerance] of results, relative to the largest of an output, by which backends are compared
 * @property {Record<string, number>} weightTypes bytes by the type of the elements
 * @property {(FileSpec & { offset: number })[]} weights
 * @property {Part[]} backends in order of preference
 */
/**
 * @typedef {(import('../wasm/start_wasm.js').WasmPart | import('../device/device_program.js').DevicePart) & { kernels: number, products: Record<string, number> }} Part
 * What one backend needs besides; `kernels` are the launches of a run, `products` numbers of them by their types.
 */
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
export async function startFirst(parts, start, weights, signal) {
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
      if (failed.length) {
        const { canaries } = /** @type {{ canaries?: import('../model.js').CanaryInfo }} */ (session.facts);
        failed.push(...(canaries?.failed ?? []));
        session.facts.canaries = { checked: 0, skipped: 0, ...canaries, failed };
      }
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
