// Carries out the requests of clients: loads models, runs them, times them.

import { load } from '../../runtime-js/load/load.js';
import { copyOf, elementOf, lengthOf } from '../../runtime-js/values/dtypes.js';
import { timeRuns } from './time_runs.js';
import { withUrls } from './with_urls.js';

/** @typedef {import('./frames.js').Header} Header */
/** @typedef {import('./frames.js').Message} Message */
/** @typedef {import('../../runtime-js/model.js').Model} Model */
/** @typedef {{ header: Header, parts?: Uint8Array[] }} Answer */

/**
 * @typedef {object} Status of a search: `gain` is the model's time in units of the default's, `points` its history by
 *   trials, `left` the seconds left.
 * @property {string} model
 * @property {string} target
 * @property {string} phase
 * @property {string} task
 * @property {number} trials
 * @property {number} of
 * @property {number} failed
 * @property {number} gain
 * @property {number | null} left
 * @property {[number, number][]} points
 */

/**
 * Answers requests one after the other.
 * @param {(sha256: string) => string} locate the address of a stored file
 * @param {(task: string) => void} notify called with a description of the current task, '' when idle
 * @param {(status: Status) => void} show the status of a search that a client makes here
 * @param {import('../../runtime-js/model.js').LoadOptions} [fixed] options of `load` that no client changes
 */
export function runRequests(locate, notify, show, fixed = {}) {
  /** @type {Map<number, Model>} */
  const models = new Map();
  let last = 0;
  let work = Promise.resolve();
  let life = new AbortController();

  /** @type {Record<string, (message: Message) => Promise<Answer>>} */
  const operations = {
    async load({ header }) {
      const { manifest, options } = header;
      const own = { ...options, ...fixed, signal: life.signal };
      const model = await load(/** @type {any} */ (withUrls(manifest, locate)), own);
      models.set(++last, model);
      return { header: { model: last, info: model.info() } };
    },
    async run(message) {
      const model = use(message.header);
      const outputs = await model.run(unpack(message), { signal: life.signal });
      return pack(model, outputs);
    },
    async time(message) {
      const { repeat, warmup } = message.header;
      return { header: await timeRuns(use(message.header), unpack(message), repeat, warmup) };
    },
    async profile(message) {
      const { repeat = 1 } = message.header;
      const profile = await use(message.header).profile(unpack(message), { repeat, signal: life.signal });
      return { header: { profile } };
    },
    async show({ header }) {
      show(header.status);
      return { header: {} };
    },
    async unload({ header }) {
      const model = models.get(header.model);
      models.delete(header.model);
      await model?.dispose();
      return { header: {} };
    },
  };

  /** @param {Header} header */
  const use = ({ model }) => {
    const loaded = models.get(model);
    if (!loaded) throw new RangeError(`there is no model ${model} here: load it again`);
    return loaded;
  };

  return {
    /**
     * @param {Message} message
     * @param {(header: Header, parts?: Uint8Array[]) => Promise<void>} reply
     */
    answer(message, reply) {
      const { signal } = life;
      work = work.then(async () => {
        if (signal.aborted) return;
        notify(message.header.op);
        const operation = Object.hasOwn(operations, message.header.op) ? operations[message.header.op] : undefined;
        try {
          if (!operation) throw new TypeError(`this device has no operation ${message.header.op}`);
          const { header, parts } = await operation(message);
          if (!signal.aborted) await reply(header, parts);
        } catch (error) {
          if (!signal.aborted) await reply({ error: describe(error) });
        }
        notify('');
      });
    },
    /** Frees all models, and ends what is under way: a worker that hangs ends with its model. */
    release() {
      life.abort();
      life = new AbortController();
      for (const model of models.values()) model.dispose();
      models.clear();
      work = Promise.resolve();
      notify('');
    },
  };
}

/** @param {any} error */
function describe(error) {
  const code = typeof error?.code === 'string' ? error.code : undefined;
  return { kind: 'device', name: String(error?.name), code, message: String(error?.message ?? error) };
}

/**
 * The tensors of a message, by name, as typed arrays with their shapes.
 * @param {Message} message
 */
function unpack({ header, payload }) {
  let at = payload.byteOffset;
  /** @type {[string, any][]} */
  const arrays = header.arrays.map((/** @type {{ name: string, dtype: string, shape: number[] }} */ spec) => {
    const element = elementOf(spec.dtype);
    const bytes = element.bytes * lengthOf(spec.shape);
    const Constructor = /** @type {any} */ (globalThis)[/** @type {string} */ (element.arrays[0])];
    // Typed arrays stand at multiples of their elements' size, which these need not.
    const array =
      at % element.bytes === 0
        ? new Constructor(payload.buffer, at, bytes / element.bytes)
        : new Constructor(payload.buffer.slice(at, at + bytes));
    at += bytes;
    return [spec.name, { data: array, shape: spec.shape }];
  });
  return Object.fromEntries(arrays);
}

/**
 * @param {Model} model
 * @param {Record<string, ArrayBufferView>} outputs
 * @returns {Answer}
 */
function pack(model, outputs) {
  const arrays = model.outputs.map(({ name, dtype, shape }) => ({
    name,
    dtype,
    shape: /** @type {any} */ (outputs[name]).shape ?? shape,
  }));
  return { header: { arrays }, parts: model.outputs.map(({ name }) => copyOf(/** @type {any} */ (outputs[name]))) };
}
