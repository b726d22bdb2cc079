// One compiled module with its memory: everything is allocated here, once; a run allocates only its results.

import { trapped } from '../errors.js';
import { fetchFile, fetchJson } from '../fetch/fetch_file.js';
import { fetchWeights } from '../fetch/fetch_weights.js';
import { watchDownloads } from '../fetch/watch_downloads.js';
import { elementOf, lengthOf } from '../values/dtypes.js';
import { resultIn, roomFor } from '../values/into.js';
import { checkRefusals, emptyInputs, extentsOf, shapeOf, varies } from '../values/sizes.js';
import { eachRun } from '../values/strided.js';
// <canaries>
import { checkRelaxed } from './check_relaxed.js';
import { checkThreads, operandsOf, parallelForOthers } from './check_threads.js';
// </canaries>
import { countThreads } from './count_threads.js';
import { pickVariant } from './pick_variant.js';
import { createControl, parallelFor } from './pool.js';
import { STACK_BYTES } from './stacks.js';
// <generate>
import { wasmAhead } from './wasm_ahead.js';
// </generate>
import { compile, allocate as createMemory } from './wasm_module.js';
// <states>
import { wasmStates } from './wasm_states.js';
// </states>
import { fillWeights, piecesOf } from './widen_weights.js';

/** @typedef {import('../fetch/fetch_file.js').FileSpec} FileSpec */
/** @typedef {import('../model.js').Progress} Progress */
/** @typedef {import('../model.js').TypedArray} TypedArray */
/**
 * @typedef {import('../values/sizes.js').Spec & { offset: number, scalar?: number }} TensorSpec `offset`: bytes into the arena;
 *   `scalar`: an output that is this scalar of a run, for the runtime alone
 */
/**
 * @typedef {FileSpec & { shared?: number, program?: Partial<WasmPart> }} ModuleSpec `shared`: the byte that says whether
 *   its memory is shared; `program`: what it has in place of the others'
 * @typedef {object} WasmPart
 * @property {'wasm'} backend
 * @property {Record<string, ModuleSpec>} modules by variant
 * @property {number} preparedBytes of what is computed from the weights at load
 * @property {number} arenaBytes of tensors at their peak
 * @property {FileSpec} steps what the steps of a run are
 * @property {import('./widen_weights.js').Range[]} halves of the weights
 * @property {number} weightsBytes of the weights in memory that the module reads, from their beginning
 * @property {number[]} prepare for each call of `prepare`, how many of these must be there; ascending
 * @property {number[]} [scalars] where the sizes of a run are, in bytes into the arena: those that it is given, then those
 *   that it computes
 * @property {{ pages: number, weights: number, arena: number, states?: number, most?: number }} memory pages of 64 KiB, `most`
 *   with more sessions; byte addresses, `states` those of the first session
 * @property {{ bytes: number, offsets: number[] }} [stateMemory] of one session, and where each state is in it
 * @typedef {import('../start_session.js').Plan & WasmPart & { module: ModuleSpec }} WasmPlan
 */
/**
 * @typedef {object} Exports
 * @property {(weights: number, arena: number, number: number) => void} [prepare] is called for each number, in order, before
 *   the first run
 * @property {Entry} run
 * @property {Entry} profile the same, and `clock` after each step; `clock_launch` with its number, where some are repeated
 * @property {import('./pool.js').Chunk} chunk
 * @property {(operands: number) => void} [canary] a loop for several threads, over the vectors at this address; in bundles with
 *   canaries
 * @property {WebAssembly.Global} __stack_pointer
 * @typedef {(weights: number, arena: number, states: number) => void} Entry `states` where the model has any
 */
/** @typedef {import('../start_session.js').Session} Session */

const PAGE = 65536;
const SHARED_LIMITS = 3; // of the memory of a module; 1 where it is not shared

/**
 * @param {import('../start_session.js').Plan & WasmPart} part
 * @param {(progress: Progress) => void} onProgress
 * @returns {Promise<Session>}
 */
export async function startWasm(part, onProgress) {
  // <canaries>
  const canaries = part.canaries ? checkRelaxed() : undefined;
  if (canaries?.failed.length) part = { ...part, variants: part.variants.filter((name) => name === 'plain') };
  // </canaries>
  const variant = pickVariant(Object.keys(part.modules), part.variants);
  const module = /** @type {ModuleSpec} */ (part.modules[variant]);
  const plan = { ...part, ...module.program, module };
  const { memory, threads, reason } = allocate(plan);
  const pool = threads > 1 ? plan.startThreads(threads - 1, plan.timeout) : undefined;
  const { preparedBytes, arenaBytes } = plan;
  const sizes = { preparedBytes, arenaBytes, memoryBytes: memory.buffer.byteLength };
  const facts = { variant, precision: 'f32', threads, threadsReason: reason, ...sizes };
  /** @type {number[]} when each step of a profiled run ended */
  const times = [];
  /** @type {number[]} which step it was, -1 where a run begins */
  const numbers = [];
  const clock_launch = (/** @type {number} */ number) => {
    times.push(performance.now());
    numbers.push(number);
  };
  const clock = () => clock_launch(Number(numbers.at(-1)) + 1); // of a program that repeats and skips none
  const start = async (/** @type {WebAssembly.Module} */ module) => {
    /** @type {import('./pool.js').ParallelFor} */
    let fork = (body, args, extent) => exports.chunk(body, args, 0, extent);
    /** @type {import('./pool.js').ParallelFor} */
    const parallel_for = (body, args, extent) => fork(body, args, extent);
    const instance = await WebAssembly.instantiate(module, { env: { memory, parallel_for, clock, clock_launch } });
    const exports = /** @type {Exports} */ (instance.exports);
    if (!pool) return exports;
    const control = createControl();
    // <canaries>
    const alone = fork;
    const results = operandsOf(memory.buffer, plan.memory.pages * PAGE, threads - 1);
    let right = true;
    // </canaries>
    try {
      await pool.join({ module, memory, control, stacks: plan.memory.pages * PAGE });
      // <canaries>
      fork = parallelForOthers(control, threads, exports.chunk);
      if (canaries) right = checkThreads(canaries, results, exports.canary);
      // </canaries>
      fork = parallelFor(control, threads, exports.chunk);
    } catch (error) {
      pool.dispose();
      facts.threads = 1;
      facts.threadsReason = `a worker did not start: ${/** @type {Error} */ (error).message}`;
    }
    // <canaries>
    if (!right) {
      pool.dispose();
      fork = alone;
      Object.assign(facts, { threads: 1, threadsReason: 'several gave wrong results' });
    }
    // </canaries>
    return exports;
  };
  try {
    const play = player(plan);
    const { exports, steps } = await download(plan, memory, start, play, onProgress);
    let compute = (/** @type {number} */ states) => play(exports.run, states);
    // <generate>
    const ahead = plan.inWorker && plan.fed ? wasmAhead(plan, memory) : undefined;
    if (ahead) {
      Object.assign(facts, { ahead: true });
      compute = (states) => {
        play(exports.run, states);
        ahead.keep(states - Number(plan.memory.states));
      };
    }
    // </generate>
    const runInto = runner(plan, memory, compute);
    /** @type {Session['run']} */
    const run = (inputs, scalars, { into = [], fed = false } = {}) => {
      let given = /** @type {ArrayBufferView[]} */ (inputs);
      // <generate>
      if (ahead && fed) given = ahead.feed(given, Number(scalars[plan.dimensions.length]));
      // </generate>
      /** @type {Uint8Array[]} */
      const rooms = [];
      const shapes = runInto(given, scalars, (i, bytes) => {
        const room = roomFor(/** @type {TensorSpec} */ (plan.outputs[i]), into[i], bytes);
        rooms.push(room);
        return room;
      });
      return rooms.map((room, i) => resultIn(/** @type {TensorSpec} */ (plan.outputs[i]), room, shapes[i]));
    };
    if (plan.warmup) {
      const warmUp = runner({ ...plan, refusals: [] }, memory, (states) => play(exports.run, states));
      warmUp(...emptyInputs(plan), nowhere);
    }
    const runTimed = runner(plan, memory, (states) => {
      clock_launch(-1);
      play(exports.profile, states);
    });
    /** @type {Session['profile']} */
    const profile = async (inputs, scalars, repeat) => {
      times.length = 0;
      numbers.length = 0;
      // Whole runs: memory of inputs and conditions has other values by the end of one.
      for (let i = 0; i < repeat; i++) runTimed(/** @type {ArrayBufferView[]} */ (inputs), scalars, nowhere);
      const ends = [...times];
      const launched = [...numbers];
      const list = await steps;
      /** @type {import('../model.js').KernelTime[]} */
      const kernels = list.map((/** @type {object} */ step) => ({ ...step, ms: 0, clock: 'wall', count: 0 }));
      launched.forEach((number, k) => {
        if (number < 0) return;
        const step = /** @type {import('../model.js').KernelTime} */ (kernels[number]);
        step.ms += Number(ends[k]) - Number(ends[k - 1]);
        step.count++;
      });
      return kernels.map((step) => ({ ...step, ms: step.ms / repeat, count: step.count / repeat }));
    };
    // <canaries>
    if (canaries?.checked) Object.assign(facts, { canaries });
    // </canaries>
    /** @type {Session} */
    const session = { facts, run, runInto, profile, dispose: () => pool?.dispose() };
    // <states>
    if (plan.states) {
      const keep = wasmStates(plan, memory, readTensor, writeTensor);
      session.keep = keep;
      // <generate>
      session.keep = (arrays, scalars, action, number, ...more) => {
        if (action !== 'undo') return keep(arrays, scalars, action, number, ...more);
        ahead?.undo(Number(number));
        return [];
      };
      // </generate>
      if (plan.warmup) session.keep([], [], 'write', 0);
    }
    // </states>
    return session;
  } catch (error) {
    pool?.dispose();
    throw error;
  }
}

/**
 * A function that calls entries of the module, with the number of a launch or the address of states, and none any more
 * after a trap, which leaves the stack pointer and the memory as they were in mid-run.
 * @param {WasmPlan} plan
 */
function player({ memory: { weights, arena } }) {
  /** @type {Error | undefined} */
  let broken;
  /** @type {(entry?: NonNullable<Exports['prepare']>, number?: number) => void} */
  return (entry, number = 0) => {
    if (broken) throw broken;
    try {
      entry?.(weights, arena, number);
    } catch (error) {
      broken = trapped(/** @type {Error} */ (error));
      throw broken;
    }
  };
}

/** @type {NonNullable<Parameters<NonNullable<Session['runInto']>>[2]>} */
const nowhere = () => undefined;

/**
 * @param {WasmPlan} plan
 * @param {WebAssembly.Memory} memory
 * @param {(states: number) => void} compute
 * @returns {NonNullable<Session['runInto']>}
 */
function runner(plan, memory, compute) {
  const place = (/** @type {TensorSpec} */ { offset, dtype, shape }) =>
    new Uint8Array(memory.buffer, plan.memory.arena + offset, lengthOf(extentsOf(shape)) * elementOf(dtype).bytes);
  const scalar = (/** @type {number} */ offset) => new Int32Array(memory.buffer, plan.memory.arena + offset, 1);
  let inputs = plan.inputs.map(place);
  let outputs = plan.outputs.map(place);
  let scalars = (plan.scalars ?? []).map(scalar);
  return (values, sizes, roomOf) => {
    // <states>
    if (outputs[0]?.buffer !== memory.buffer) {
      // It has grown.
      inputs = plan.inputs.map(place);
      outputs = plan.outputs.map(place);
      scalars = (plan.scalars ?? []).map(scalar);
    }
    // </states>
    plan.dimensions.forEach((_, i) => {
      scalars[i]?.fill(Number(sizes[i]));
    });
    plan.inputs.forEach(({ dtype, shape }, i) => {
      const value = /** @type {ArrayBufferView} */ (values[i]);
      writeTensor(/** @type {Uint8Array} */ (inputs[i]), dtype, value, extentsOf(shape), shapeOf(shape, sizes));
    });
    compute(Number(plan.memory.states) + (sizes[plan.dimensions.length] ?? 0));
    const left = scalars.map(([n]) => Number(n));
    checkRefusals(plan.refusals, left);
    return plan.outputs.map(({ dtype, shape }, i) => {
      const own = shapeOf(shape, left);
      const room = roomOf(i, lengthOf(own) * elementOf(dtype).bytes);
      readTensor(/** @type {Uint8Array} */ (outputs[i]), dtype, room, extentsOf(shape), own);
      return varies(shape) ? own : undefined;
    });
  };
}

/**
 * The memory, and how many threads it is for: shared memory may be refused where the other kind is not.
 * @param {WasmPlan} plan
 * @returns {{ memory: WebAssembly.Memory, threads: number, reason: string }}
 */
function allocate(plan) {
  const { threads, reason } = countThreads(plan.threads, plan.module.shared !== undefined);
  const pages = plan.memory.pages + ((threads - 1) * STACK_BYTES) / PAGE;
  try {
    return { memory: createMemory(pages, threads > 1, plan.memory.most), threads, reason };
  } catch (error) {
    if (threads === 1) throw error;
    const { message } = /** @type {Error} */ (error);
    return { ...allocate({ ...plan, threads: 1 }), reason: `no shared memory: ${message}` };
  }
}

/**
 * Code and weights at once; `start` runs while the weights arrive, and what is prepared of them follows them. When one file
 * fails, the others are given up; but not for `steps`, a promise that is settled by then: it is `profile` alone that needs them, and reports why they are missing.
 * @param {WasmPlan} plan
 * @param {WebAssembly.Memory} memory
 * @param {(module: WebAssembly.Module) => Promise<Exports>} start
 * @param {ReturnType<typeof player>} play
 * @param {(progress: Progress) => void} onProgress
 */
async function download(plan, memory, start, play, onProgress) {
  const code = new Uint8Array(plan.module.bytes);
  const { shared } = plan.module;
  const base = plan.memory.weights;
  // Weights of other backends alone follow: they are not needed, and what is prepared is where they would be.
  const places = plan.weights.flatMap((shard) => {
    const pieces = piecesOf(shard, plan.halves, plan.weightsBytes);
    const [first] = pieces;
    if (!first) return [];
    // Straight into memory where nothing is widened or left out on the way.
    const straight = pieces.length === 1 && !first.half && first.to === shard.bytes;
    const file = straight && new Uint8Array(memory.buffer, base + first.place, shard.bytes);
    return [{ shard, pieces, file, start: first.place, arrived: false }];
  });
  const shards = places.map(({ shard }) => shard);
  /** @type {Exports | undefined} */
  let exports;
  let prepared = 0;
  const prepare = () => {
    const end = places.find(({ arrived }) => !arrived)?.start ?? Number.POSITIVE_INFINITY;
    while (exports && Number(plan.prepare[prepared]) <= end) play(exports.prepare, prepared++);
  };
  /** @type {Parameters<typeof fetchWeights>[1]} */
  const room = ({ bytes }, i) => places[i]?.file || new Uint8Array(bytes);
  /** @type {Parameters<typeof fetchWeights>[2]} */
  const fill = (_, file, i) => {
    const place = /** @type {(typeof places)[number]} */ (places[i]);
    if (!place.file) fillWeights(file, place.pieces, memory.buffer, base);
    place.arrived = true;
    prepare();
  };
  const downloads = watchDownloads(plan);
  let loaded = 0;
  const onCode = (/** @type {number} */ bytes) => {
    loaded += bytes;
    onProgress({ phase: 'code', loaded, total: code.length });
  };
  try {
    const steps = fetchJson(plan.steps, downloads);
    const [ready] = await Promise.all([
      fetchFile(plan.module, code, onCode, downloads)
        .then(() => {
          if (shared !== undefined && !(memory.buffer instanceof ArrayBuffer)) code[shared] = SHARED_LIMITS;
          return compile(code, plan.module.url);
        })
        .then(start)
        .then((started) => {
          exports = started;
          prepare();
          return started;
        }),
      fetchWeights(shards, room, fill, onProgress, downloads),
      steps.catch(() => {}), // waited for all the same: a page may profile when it is offline
    ]);
    return { exports: ready, steps };
  } finally {
    downloads.end();
  }
}

/**
 * Bytes of an array into memory.
 * @param {Uint8Array} target
 * @param {string} dtype
 * @param {ArrayBufferView} value
 * @param {readonly number[]} extents of the memory
 * @param {readonly number[]} shape of the array
 */
function writeTensor(target, dtype, { buffer, byteOffset, byteLength }, extents, shape) {
  const source = new Uint8Array(buffer, byteOffset, byteLength);
  const { bytes } = elementOf(dtype);
  eachRun(extents, shape, (from, to, length) => {
    const run = source.subarray(from * bytes, (from + length) * bytes);
    target.set(run, to * bytes);
    // Compiled code may rely on 0 or 1, as in NumPy.
    if (dtype === 'bool') for (let i = 0; i < length; i++) if (run[i]) target[to + i] = 1;
  });
}

/**
 * Bytes of an array from memory: copies, never of shared memory.
 * @param {Uint8Array} source
 * @param {string} dtype
 * @param {Uint8Array | undefined} room
 * @param {readonly number[]} extents of the memory
 * @param {readonly number[]} shape of the array
 */
function readTensor(source, dtype, room, extents, shape) {
  const { bytes } = elementOf(dtype);
  eachRun(extents, shape, (to, from, length) => {
    room?.set(source.subarray(from * bytes, (from + length) * bytes), to * bytes);
  });
}
