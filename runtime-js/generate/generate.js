// `generate`: tokens of a decoder, one after the other. A step is a run of one token; what it has computed stays with the
// session, so that what is given up or aborted goes on with just the token that follows.

import { RunError } from '../errors.js';
import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { elementOf, typedArray } from '../values/dtypes.js';
import { checkGenerate } from './check_generate.js';
import { sampled, setPosition } from './sampling.js';

/** @typedef {import('../start_session.js').Input} Input */
/** @typedef {import('../model.js').Token} Token */
/**
 * @typedef {object} GenerateSpec
 * @property {string} ids the input of tokens
 * @property {number} longest so many are in a run at most
 * @property {number} vocabulary
 * @property {number} top
 * @property {readonly number[]} end tokens that end a text
 * @property {import('./chat.js').ChatSpec} [chat] makes text of messages
 * @property {import('../wasm/start_wasm.js').TensorSpec} [logits] where wasm has them; of bundles with a GPU's part beside
 */
/** @typedef {InstanceType<typeof import('./pieces.js').pieces.Pieces>} Written */
/**
 * @typedef {object} Left what a step leaves
 * @property {number} changes of the session then: others since make it void
 * @property {readonly number[]} pending tokens that come last, and are not in the states yet
 * @property {Token} [ready] the last of them, where it has not been given
 * @property {Written} [written] the text of the tokens that were given
 */
/** @typedef {typeof import('./pieces.js').pieces & { spec: import('../texts/texts.js').TextSpec, tokenizer: import('../texts/tokenizers.js').Tokenizer, ofMessages?: ReturnType<typeof import('./chat.js').chat.open> }} Texting */
/**
 * @typedef {object} Shared
 * @property {Pick<import('../load/load.js').Manifest, 'inputs' | 'outputs' | 'measured' | 'generate'>} manifest
 * @property {() => import('../start_session.js').Session} use
 * @property {{ perToken?: import('../model.js').PerToken, ahead?: boolean }} info
 * @property {Texting} [texting] of models that take text
 * @property {import('../verify/non_finite.js').Search} [search] of models on GPUs
 */

/**
 * @param {Shared} shared
 * @param {import('../load/sessions.js').Own} own
 * @param {Left} [before] of the session that this one is a copy of
 */
function open({ manifest, use, info, texting, search }, own, before = { changes: -1, pending: [] }) {
  const { inputs: specs, outputs, measured = [] } = manifest;
  const spec = /** @type {GenerateSpec} */ (manifest.generate);
  let left = before;
  let busy = false;
  let warned = false;
  /** @type {Promise<unknown>} a step that goes on though nothing waits for it */
  let last = Promise.resolve();
  const { dtype } = /** @type {import('../values/sizes.js').Spec} */ (specs.find(({ name }) => name === spec.ids));
  const arrayOf = (/** @type {number} */ length) => typedArray(dtype, new ArrayBuffer(length * elementOf(dtype).bytes));
  const single = { data: arrayOf(1), shape: [1, 1] };
  const at = Object.fromEntries(outputs.map(({ name }, i) => [name, i]));
  const into = [Int32Array, Float32Array].map((array) => new array(1));
  const rooms = outputs.map(({ name }) => ({ token: into[0], logprob: into[1] })[name]);

  /**
   * Runs tokens that are pending, so many as a run takes; the next token is ready behind the last of them.
   * @param {Record<string, any>} arrays
   * @param {boolean} more whether another token is wanted behind it
   */
  const step = async (arrays, more) => {
    const { changes, pending } = left;
    const part = pending.slice(0, spec.longest);
    const ids = part.length === 1 ? single : { data: arrayOf(part.length), shape: [1, part.length] };
    part.forEach((id, i) => {
      ids.data[i] = dtype === 'int64' ? BigInt(id) : id;
    });
    const run = (/** @type {Input[]} */ data, /** @type {number[]} */ scalars, fed = false) =>
      use().run(data, scalars, { output: 'array', into: rooms, fed });
    let behind = 0;
    /** @type {import('../load/sessions.js').Start} */
    const start = (data, scalars, due, follow) => {
      if (part.length === 1) info.perToken = { given: bytesOf(data), uniforms: 0, received: 0 };
      // A step that is compared begins once the states before it are read, and none is launched before these behind it are.
      if (search?.isNear?.())
        return search({ data, scalars, ahead: Boolean(due) }, (given) => due ?? run(given, scalars));
      const results = due ?? run(data, scalars);
      if (more && info.ahead && part.length === pending.length) {
        setPosition(specs, arrays, behind + 1);
        follow({ ...arrays, [spec.ids]: single }, (data, scalars) => run(data, scalars, true));
      }
      return search?.({ data, scalars, ahead: true }, () => results) ?? results;
    };
    /** @type {import('../load/sessions.js').Complete} */
    const complete = (given, position) => {
      if (own.changes !== changes) throw changed();
      behind = position + part.length;
      setPosition(specs, given, behind);
      return given;
    };
    const results = await own.begin({ ...arrays, [spec.ids]: ids }, start, undefined, complete, arrays);
    if (part.length === 1 && info.perToken) {
      info.perToken.uniforms = Number(results[outputs.length + measured.length]?.[0] ?? 0);
      info.perToken.received = bytesOf(results.slice(0, outputs.length));
    }
    const rest = pending.slice(part.length);
    const token = rest.length ? undefined : tokenOf(results, at);
    if (Number.isNaN(token?.logprob) && !warned) {
      warned = true;
      console.warn(`generate: logits are NaN or infinity at position ${behind}: tokens from here on say little`);
    }
    const { written } = left;
    left = { changes: changes + 1, pending: token ? [token.token] : rest, ready: token, written };
  };

  /**
   * @param {Record<string, any>} arrays
   * @param {boolean} more
   * @param {AbortSignal | undefined} signal
   * @returns {Promise<Token>}
   */
  const next = async (arrays, more, signal) => {
    while (!left.ready) {
      if (signal?.aborted) throw reasonOf(signal);
      await step(arrays, more);
    }
    return left.ready;
  };

  /**
   * Where it goes on from: what is left, with other tokens behind it.
   * @param {readonly number[]} ids
   * @param {boolean} resume
   * @param {boolean} asText
   * @returns {Left}
   */
  const from = (ids, resume, asText) => {
    const { changes } = own;
    const goesOn = resume && left.changes === changes;
    const { pending, ready, written } = goesOn ? left : { pending: [] };
    if (!pending.length && !ids.length) throw new RangeError('ids: give one token at least');
    if (goesOn && !ids.length)
      return { changes, pending, ready, written: asText ? (written ?? textBehind(pending)) : undefined };
    // A token that is ready was not given: other ones come in its place.
    const whole = [...(ready ? [] : pending), ...ids];
    return { changes, pending: whole, written: asText ? textBehind(whole) : undefined };
  };
  const textBehind = (/** @type {readonly number[]} */ ids) => texting && new texting.Pieces(texting.tokenizer, ids);

  /**
   * @param {import('./check_generate.js').Checked} checked
   * @returns {AsyncGenerator<any, void, undefined>}
   */
  async function* tokens({ ids, arrays, ahead, asText, stops, strings, maxTokens, signal, resume, logprobs }) {
    if (busy) throw new RunError('busy', UNDER_WAY);
    busy = true;
    try {
      await last;
      if (signal?.aborted) throw reasonOf(signal);
      own.checkRows?.(from(ids, resume, asText).pending.length, spec.longest, resume);
      if (!resume) await own.reset();
      left = from(ids, resume, asText);
      const { written } = left;
      for (let made = 0; made < maxTokens; made++) {
        if (signal?.aborted) throw reasonOf(signal);
        const running = next(arrays, made + 1 < maxTokens && ahead, signal);
        last = running.catch(() => {});
        const token = await unlessAborted(running, signal ? [signal] : [], () => {});
        left = { ...left, ready: undefined };
        if (stops.has(token.token)) break;
        written?.push(token.token);
        if (!written) yield logprobs ? token : token.token;
        const { text, stopped } = written?.take(strings) ?? {};
        if (text) yield text;
        if (stopped) return;
      }
      const { text } = written?.take([]) ?? {};
      if (text) yield text;
    } finally {
      busy = false;
    }
  }

  return {
    /** A copy, from which another session goes on. */
    left: () => ({ ...left, written: left.written?.copy() }),
    /** @param {import('../model.js').GenerateOptions} options */
    generate: (options) => tokens(checkGenerate(options, manifest, texting)),
    /** The session, whose runs take the likeliest token. */
    own: sampled(manifest, {}, own),
    /** @param {(own: import('../load/sessions.js').Own) => import('../model.js').Model['run']} runIn @returns {any} */
    runIn:
      (runIn) =>
      async (/** @type {any} */ values, /** @type {any} */ options = {}) => {
        const { sampling = {}, ...others } = options;
        return runIn(sampled(manifest, sampling, own))(values, others);
      },
  };
}

const UNDER_WAY =
  'another generate of this session is under way: end it (break, return() or its signal), or take a session() of its own';

const changed = () =>
  new RunError(
    'busy',
    'the states were changed by a run, reset(), rewind() or loadState() while generate was under way: begin it anew',
  );

/** @param {readonly any[]} arrays */
const bytesOf = (arrays) => arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);

/**
 * @param {readonly any[]} results
 * @param {Record<string, number>} at
 * @returns {Token}
 */
function tokenOf(results, at) {
  const of = (/** @type {string} */ name) => results[/** @type {number} */ (at[name])];
  const logprobs = of('top_logprobs') ?? [];
  const top = Array.from(of('top_ids') ?? [], (token, i) => ({ token, logprob: logprobs[i] }));
  return { token: of('token')[0], logprob: of('logprob')[0], top };
}

/**
 * Leaves the inputs out that options fill.
 * @param {any} model
 */
function hide(model) {
  const { inputs, inputShapes } = model;
  const filled = inputs.filter((/** @type {any} */ { sampling }) => sampling);
  model.inputs = inputs.filter((/** @type {any} */ { sampling }) => !sampling);
  model.inputShapes = (/** @type {any} */ sizes) => {
    const shapes = inputShapes(sizes);
    for (const { name } of filled) delete shapes[name];
    return shapes;
  };
}

/**
 * Adds to a plan where the token of a run goes.
 * @param {import('../start_session.js').Ports} plan
 * @param {import('../load/load.js').Manifest} manifest
 */
function addTo(plan, { inputs, outputs, generate: spec }) {
  const input = inputs.findIndex(({ name }) => name === spec?.ids);
  plan.fed = { input, output: outputs.findIndex(({ name }) => name === 'token') };
}

export const generate = { addTo, open, hide };
