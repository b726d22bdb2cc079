// `load`: from the manifest in model.js to a model that runs.

import { RunError, UnsupportedError } from '../errors.js';
import { canHash } from '../fetch/fetch_file.js';
import { storeName } from '../fetch/keep_files.js';
import { reasonOf, unlessAborted } from '../fetch/unless_aborted.js';
import { startSession } from '../start_session.js';
import { checkInputs } from '../values/check_inputs.js';
import { checkNames } from '../values/check_names.js';
import { checkInto, placeIn } from '../values/into.js';
import { extentsOf, shownShape } from '../values/sizes.js';
import { startWorker } from '../worker/start_worker.js';
import * as wasmPage from '../worker/wasm_page.js';
import { arrived } from './arrived.js';
import * as backends from './backends.js';
import { checkOptions, checkProfileOptions, checkRunOptions } from './check_options.js';
// <next>
import { followSession } from './follow_session.js';
// </next>
import * as needs from './needs.js';
import * as optional from './optional.js';
import { queueRuns } from './queue_runs.js';
// <finite>
import { searchOutputs } from './search_outputs.js';
// </finite>
import { startFirst } from './start_first.js';

const ABI = 5;

export { cacheOf } from './cache_of.js';
// <functions>
export { functionsOf } from './load_functions.js';
// </functions>

/** @typedef {import('./start_first.js').Manifest} Manifest */
/** @typedef {import('./start_first.js').Part} Part */
/** @typedef {import('../wasm/start_wasm.js').TensorSpec} TensorSpec */
/** @typedef {import('../start_session.js').Session} Session */

/**
 * @param {Manifest} manifest
 * @param {import('../model.js').LoadOptions} [options]
 * @param {() => any} [tokenizerPackage] its exports, or a promise of them, where the model takes or gives text
 * @returns {Promise<import('../model.js').Model>}
 */
export async function load(manifest, options = {}, tokenizerPackage) {
  if (manifest.abi !== ABI) {
    throw new UnsupportedError(
      'abi',
      `model.js has bundle format ${manifest.abi}, these runtime files have ${ABI}: compile again`,
    );
  }
  const { inputs, outputs, weights, dimensions = [], refusals = [] } = manifest;
  const { backend, threads, worker, warmup, device, onProgress, signal, timeout, cache, verify } = checkOptions(
    options,
    manifest.backends.map((part) => part.backend),
  );
  if (signal?.aborted) throw reasonOf(signal);
  /**
   * Calls a function of the caller's, whose faults are reported as such and spoil no load.
   * @param {((value: any) => void) | undefined} callback
   * @param {unknown} value
   */
  const callBack = (callback, value) => {
    try {
      callback?.(value);
    } catch (error) {
      (globalThis.reportError ?? console.error)(error); // Node.js has none
    }
  };
  /** @param {import('../start_session.js').Notice} notice */
  const notify = (notice) => {
    // <canaries>
    if ('canaries' in notice) {
      const { failed } = /** @type {import('../model.js').CanaryInfo} */ (info.canaries);
      const others = failed.filter(({ backend }) => backend !== info.backend); // given up before
      info.canaries = { ...notice.canaries, failed: [...others, ...notice.canaries.failed] };
      callBack(options.onCanaries, info.canaries);
      // <next>
      if (notice.reason) session?.giveUp?.(notice);
      // </next>
      return;
    }
    // </canaries>
    callBack(onProgress, notice);
  };
  const parts = manifest.backends.filter((part) => backend === 'auto' || part.backend === backend);
  const kept = cache ? { cache: storeName(manifest) } : {};
  // <signature>
  if ('publicKey' in options) {
    const taken = parts.map((part) => part.backend);
    await optional.signature.check(manifest, options.publicKey, taken, { signal, timeout });
  }
  // </signature>
  const numbers = dimensions.length;
  const common = { weights, inputs, outputs, dimensions, refusals, numbers, ...kept };
  // <states>
  if (manifest.states) optional.states.addTo(common, manifest);
  // </states>
  // <canaries>
  Object.assign(common, { canaries: options.canaries ?? true, others: parts.length > 1 });
  // </canaries>
  // <generate>
  if (manifest.generate) optional.generate.addTo(common, manifest);
  // </generate>
  const plan = { ...common, threads, warmup, timeout, variants: wasmPage.listVariants?.() ?? [] };
  const fetching = { ...kept, signal, timeout };
  const loadVerifier = () => arrived('the comparison with wasm', import('../verify/verify_runs.js'), timeout);
  const verifying = verify !== false ? (await loadVerifier()).guard(manifest, options) : undefined;
  const tokenizers = manifest.tokenizers && optional.tokenizers?.start(manifest.tokenizers, tokenizerPackage, fetching);
  const answers = manifest.answers && optional.answers?.start(manifest.answers, fetching, tokenizers?.list);
  const inWorker = worker && typeof Worker === 'function';
  /** @type {import('./start_first.js').Start} */
  const start = async (part, signal) => {
    if (part.hardware) await soon(/** @type {Partial<Record<Part['backend'], Need>>} */ (needs)[part.backend]);
    if (signal?.aborted) throw reasonOf(signal);
    if (inWorker) return startWorker({ ...plan, ...part }, notify, signal);
    const { startThreads } = wasmPage;
    const own = { ...plan, ...part, startThreads, device, signal };
    return startSession(await scriptOf(part.backend, timeout), own, notify);
  };
  const starting = startFirst(parts, start, weights, signal);
  /** @type {import('../start_session.js').Session | undefined} of a model that was disposed of nothing holds it any more */
  let session = await unlessAborted(starting, signal ? [signal] : [], (late) => late.dispose());
  await tokenizers?.ready(session);
  await answers?.ready(session);
  const { facts } = session;
  let part = parts.find((part) => part.backend === facts.backend);
  const weightBytes = weights.reduce((sum, shard) => sum + shard.bytes, 0);
  const info = /** @type {import('../model.js').Info} */ ({
    name: manifest.name,
    ...facts,
    worker: inWorker,
    workerReason: worker === inWorker ? 'as asked for' : 'there are no workers here',
    integrity: canHash()
      ? 'sha256'
      : 'length only: crypto.subtle is missing (the page is not served over https or localhost)',
    weightBytes,
    weightTypes: manifest.weightTypes,
    kernels: part?.kernels,
    products: part?.products,
    abi: ABI,
  });
  // <signature>
  if ('publicKey' in options) info.integrity = 'sha256, signed';
  // </signature>
  // Nothing waits for it.
  if (info.cache && !info.cache.reason)
    import('../fetch/kept_files.js').then(({ dropOthers }) => dropOthers(manifest)).catch(() => {});
  const use = () => /** @type {import('../start_session.js').Session} */ (session);
  const life = new AbortController();
  /** @type {import('../verify/non_finite.js').Search | undefined} */
  let search;
  // <finite>
  /** @type {import('../verify/non_finite.js').Watch & import('./take_next.js').Following} */
  const watch = {
    ...{ manifest, options, info, use, life: life.signal },
    load: (plain, others) => load(plain, others, tokenizerPackage),
    on: options.verify !== false && info.backend !== 'wasm',
    // <next>
    parts,
    start,
    startFirst,
    notify,
    put(now, its) {
      session = now;
      // <check>
      part = its ?? part;
      // </check>
    },
    follow: (own) => followSession(watch, own, inWorker),
    // </next>
  };
  // <next>
  if (backend === 'auto' && info.backend !== 'wasm') session = watch.follow(session);
  // </next>
  const compare = await verifying?.(watch);
  search = searchOutputs(watch, compare, loadVerifier);
  // <generate>
  search.isNear = compare?.isNear;
  // </generate>
  // </finite>
  // <canaries>
  if (info.canaries) callBack(options.onCanaries, info.canaries);
  // </canaries>
  notify({ phase: 'ready', loaded: weightBytes, total: weightBytes });
  const enqueue = queueRuns(life.signal);
  /**
   * @template T
   * @param {unknown} values
   * @param {AbortSignal | undefined} signal
   * @param {import('./sessions.js').Own | undefined} own the session whose states the run finds
   * @param {(data: import('../start_session.js').Input[], scalars: number[], sizes?: Record<string, readonly number[]>) => T[] | Promise<T[]>} run
   * @returns {Promise<T[]>}
   */
  const withInputs = (values, signal, own, run) => {
    /** @type {(values: unknown, sizes?: Record<string, readonly number[]>) => Promise<T[]>} */
    const checked = async (values, sizes) => {
      // <states>
      if (own) return own.begin(values, (data, scalars) => run(data, scalars, sizes), signal);
      // </states>
      const { values: data, scalars } = checkInputs(inputs, values, info, dimensions, optional.sizes);
      return enqueue(data, (inputs) => run(inputs, scalars, sizes), signal);
    };
    const pictured = (/** @type {unknown} */ values) =>
      optional.pictures?.using(inputs, values, checked, info.backend !== 'wasm') ?? checked(values);
    const heard = (/** @type {unknown} */ values) =>
      optional.sounds?.using(inputs, values, pictured, dimensions) ?? pictured(values);
    const { text } = manifest;
    return (
      (text && optional.texts?.using(text, inputs, values, heard, dimensions, tokenizers?.list ?? [])) ?? heard(values)
    );
  };
  /** @type {(own?: import('./sessions.js').Own) => any} */
  const runIn =
    (own) =>
    async (/** @type {unknown} */ values, /** @type {import('../model.js').RunOptions} */ options = {}) => {
      const { output } = checkRunOptions(options, info);
      answers?.check(options, outputs);
      const into = checkInto(outputs, options.into);
      const { signal } = options;
      /** @type {Record<string, readonly number[]> | undefined} */
      let pictures;
      const results = await withInputs(values, signal, own, (data, scalars, sizes) => {
        pictures = sizes;
        /** @param {import('../start_session.js').Input[]} data */
        const run = (data) => use().run(data, scalars, { output, into, signal });
        // <finite>
        if (search) return search({ data, scalars, output }, run);
        // </finite>
        return run(data);
      });
      /** @type {[string, any][]} */
      const named = outputs.map((spec, i) => {
        const [result, array] = [/** @type {any} */ (results[i]), into[i]];
        return [spec.name, array ? placeIn(spec, array, result) : result];
      });
      return Object.fromEntries(answers?.of(named, pictures) ?? named);
    };
  // <states>
  /** @type {import('./sessions.js').GenerateIn | undefined} */
  let generateIn;
  // </states>
  // <generate>
  /** @type {import('../generate/generate.js').Texting | undefined} */
  const texting = manifest.text && {
    ...optional.pieces,
    spec: manifest.text,
    tokenizer: /** @type {any} */ (tokenizers?.list[manifest.text.tokenizer]),
  };
  // </generate>
  // <chat>
  if (texting && manifest.generate?.chat) {
    texting.ofMessages = optional.chat.open(manifest.generate.chat, tokenizers?.exported.Template);
    info.messages = true;
  }
  // </chat>
  // <generate>
  if (manifest.generate)
    generateIn = (own, left) => optional.generate.open({ manifest, use, info, texting, search }, own, left);
  // </generate>
  // <states>
  const sessions =
    manifest.states &&
    optional.states.open({
      manifest,
      use,
      life: life.signal,
      info,
      sizes: optional.sizes,
      newest: optional.newest,
      restores: options.restoreState === true && info.backend !== 'wasm',
      runIn,
      generateIn,
    });
  // </states>
  /**
   * Results of a run that leaves the states as they are.
   * @param {unknown} values
   * @param {AbortSignal | undefined} signal
   * @param {(data: import('../start_session.js').Input[], scalars: number[]) => any} run
   * @returns {Promise<any[]>}
   */
  const aside = (values, signal, run) => {
    // <states>
    if (sessions) return sessions.onCopy((own) => withInputs(values, signal, own, run));
    // </states>
    return withInputs(values, signal, undefined, run);
  };
  const model = {
    inputs: inputs.map(publish),
    outputs: answers?.describe(outputs.map(publish)) ?? outputs.map(publish),
    dimensions: dimensions.map(({ input, ...sizes }) =>
      Object.freeze({ ...sizes, ...(input !== undefined && { input: inputs[input]?.name }) }),
    ),
    inputShapes: (sizes = {}) => {
      if (dimensions.length) return optional.sizes.shapesFor(dimensions, inputs, sizes);
      checkNames('inputShapes', sizes, [], 'dimension');
      return Object.fromEntries(inputs.map(({ name, shape }) => [name, extentsOf(shape)]));
    },
    get backend() {
      return info.backend;
    },
    get device() {
      return session?.device?.();
    },
    info: () => structuredClone(info),
    run: runIn(),
    async profile(/** @type {unknown} */ values, /** @type {import('../model.js').ProfileOptions} */ options = {}) {
      const repeat = checkProfileOptions(options);
      return aside(values, options.signal, (data, scalars) => use().profile(data, scalars, repeat));
    },
    // <check>
    async check(/** @type {unknown} */ values, /** @type {import('../model.js').CheckOptions} */ options = {}) {
      optional.checkCheckOptions(options);
      const kept = optional.copied(values); // the caller may change them meanwhile
      const { signal } = options;
      const signals = signal ? [life.signal, signal] : [life.signal];
      const importing = arrived('the check', import('../verify/check_launches.js'), timeout);
      const { checkLaunches } = await unlessAborted(importing, signals, () => {});
      const { startThreads } = wasmPage;
      const checked = {
        ...{ manifest, part, info, fetching, use, signals },
        /** @param {Partial<import('../start_session.js').OwnPlan>} changes */
        begin: async (changes) =>
          startSession(
            await scriptOf(info.backend, timeout),
            { ...plan, ...part, startThreads, device, ...changes },
            () => {},
          ),
        /** @param {(data: any[], scalars: number[]) => Promise<any[]>} run */
        withInputs: (run) => aside(kept, signal, run),
      };
      return checkLaunches(checked);
    },
    // </check>
    async dispose() {
      life.abort(new RunError('disposed', 'the model was disposed of'));
      session?.dispose();
      session = undefined;
    },
  };
  // <states>
  sessions?.extend(/** @type {any} */ (model));
  // </states>
  // <generate>
  if (manifest.generate) optional.generate.hide(/** @type {any} */ (model));
  // </generate>
  return /** @type {any} */ (model);
}

/** @typedef {() => Promise<void>} Need */

/**
 * Waits for a check, a second at most: of a browser that takes longer the session's own start says more.
 * @param {Need | undefined} need
 */
async function soon(need) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, 1000);
  });
  await Promise.race([need?.(), late]).finally(() => clearTimeout(timer));
}
/** @param {TensorSpec} spec */
const publish = ({ offset, ...spec }) => Object.freeze({ ...spec, shape: Object.freeze(shownShape(spec.shape)) });

/** @type {(backend: Part['backend'], timeout: number) => Promise<import('../start_session.js').Backend>} */
const scriptOf = (backend, timeout) =>
  arrived(
    `the backend ${backend}`,
    /** @type {Record<typeof backend, () => Promise<any>>} */ (backends)[backend](),
    timeout,
  );
