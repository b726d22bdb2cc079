// The types of a compiled model.

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

/** Bits in a Uint16Array, or a Float16Array where the platform has it. */
export type Float16 = Uint16Array | (typeof globalThis extends { Float16Array: { prototype: infer T } } ? T : never);

/** In a shape, what each run decides is the text of an expression, such as 'batch' or 'length + 1'. */
export interface TensorInfo<Name = string, DType = string, Shape = readonly (number | string)[]> {
  readonly name: Name;
  readonly dtype: DType;
  readonly shape: Shape;
  /** Pictures fill it: larger ones than of so many rows and columns are reduced before. */
  readonly picture?: number;
  /** Sounds fill it, of so many samples in a second: others are resampled. */
  readonly sound?: number;
  /** Text fills it, by its tokens: their ids, 1 where one is, of which text of a pair it is, or its place. */
  readonly text?: 'ids' | 'mask' | 'types' | 'positions';
}

/** A size that each run decides, by the shapes of its inputs: from `least` to `most`, and a multiple of `multiple`. */
export interface Dimension {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly multiple: number;
  /** The input whose element it is, where it is no dimension of a shape. */
  readonly input?: string;
  // <states>
  /** Length that a run leaves, such as 'past + length', where states have this size: runs before decide it, and no input. */
  readonly after?: string;
  /** The most that positions may be: a table of them has no more. */
  readonly limit?: number;
  // <newest>
  /** So many rows the states have at most: the oldest are dropped before a run that would leave more. */
  readonly window?: number;
  // </newest>
  // </states>
}

/** An input with its shape; the array alone is enough where its length leaves no choice. */
export interface Shaped<Data> {
  readonly data: Data;
  readonly shape: readonly number[];
}

type Global<Name extends string> = typeof globalThis extends { [K in Name]: { prototype: infer T } } ? T : never;

/**
 * An input that is on the device already. A GPUBuffer (backend webgpu, no worker, usage COPY_SRC) holds the elements
 * in 32 bits each: float16 as float32, small integers and bool as int32. A GPUTexture (the same, usage
 * TEXTURE_BINDING) or an ImageBitmap (webgpu and webgl) fills a float32 input of shape [1, 3, height, width] or
 * [1, height, width, 3] with red, green and blue from 0 to 1, and must have just that width and height; an input of pixels
 * takes them in any size, a texture as it is, without transparency.
 */
export type OnDevice = Global<'GPUBuffer'> | Global<'GPUTexture'> | Global<'ImageBitmap'>;

/**
 * Picture of any size, for an input of pixels: what a page shows, a file of a picture, or red, green, blue and alpha of
 * each pixel. The model resizes and normalises it. An image must have been loaded, and its pixels be readable: those of other
 * origins are with `crossOrigin`.
 */
export type Picture =
  | Global<'ImageData'>
  | Global<'ImageBitmap'>
  | Global<'HTMLImageElement'>
  | Global<'HTMLCanvasElement'>
  | Global<'OffscreenCanvas'>
  | Global<'HTMLVideoElement'>
  | Global<'VideoFrame'>
  | Global<'Blob'>
  | { readonly data: Uint8ClampedArray | Uint8Array | Int32Array; readonly shape: readonly [number, number] };

/**
 * Sound of any length, for an input of samples: decoded, or a file that the browser can decode, or samples from -1 to 1 in
 * one array or one for each channel, `rate` of them in a second; without it, at the input's own. The mean of the channels is
 * resampled, and cut to the longest that the input takes.
 */
export type Sound =
  | Global<'AudioBuffer'>
  | Global<'Blob'>
  | Float32Array
  | { readonly data: Float32Array; readonly shape: readonly [number] }
  | { readonly data: Float32Array | readonly Float32Array[]; readonly rate: number };

/**
 * A text, or those of a batch, of which two in an array are a pair, for models that compare. They are cut to what the model
 * takes, and filled up to the longest one of the batch, or to the model's own length.
 */
export type Text = string | readonly (string | readonly [string, string])[];

/** A class that the model sees: `label` is its name, or `index` as text where the bundle has none. */
export interface Class {
  readonly label: string;
  readonly score: number;
  readonly index: number;
}

/** A rectangle in pixels, from the top left corner of the picture that was given, or of the input. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** An object that the model sees. */
export interface Detection extends Class {
  readonly box: Box;
}

/** A point of a body, a face or a hand, in pixels as a `Box` has them; `index` is its number. */
export interface Keypoint extends Class {
  readonly x: number;
  readonly y: number;
}

/** The class of each pixel of the picture that was given, row by row; 0, as for background, where the model saw nothing of it. */
export interface Mask {
  readonly width: number;
  readonly height: number;
  readonly classes: Uint8Array;
  readonly labels?: readonly string[];
  /** A half transparent colour for each class, and nothing for class 0; in browsers alone. */
  toImageData(): Global<'ImageData'>;
}

/** Results of runs in place of outputs, by kind. The highest scores come first. */
export interface Answers {
  classify: Class[];
  detect: Detection[];
  mask: Mask;
  /** In the model's order. */
  keypoints: Keypoint[];
  embedding: Float32Array;
  text: string;
  /** Labels of the elements, of an output that is strings in the model. */
  labels: string[];
  /** Scores by label, for each row, of a model that ends in maps. */
  scores: Record<string, number>[];
}

/** An output that is an answer. */
export interface AnswerInfo<Name = string, Kind = keyof Answers> {
  readonly name: Name;
  readonly answer: Kind;
}

// <model>
export type Backend = 'webgpu' | 'webgl' | 'wasm';
export type Inputs = Readonly<
  Record<string, TypedArray | OnDevice | Shaped<TypedArray | OnDevice> | Picture | Sound | Text>
>;
export type Outputs = Record<string, TypedArray & { readonly shape?: readonly number[] }>;
export type InputInfo = readonly TensorInfo[];
export type OutputInfo = readonly TensorInfo[];
// <states>
export type States = Record<string, TypedArray & { readonly shape: readonly number[] }>;
// </states>
// </model>

/** `loaded` and `total` are bytes after decompression, kernels in the phase 'compile'. */
export interface Progress {
  phase: 'code' | 'weights' | 'compile' | 'ready';
  loaded: number;
  total: number;
}

export interface LoadOptions {
  /**
   * 'auto', the default, takes the first backend of the bundle that the browser can run; software adapters (SwiftShader,
   * llvmpipe, WARP) come after 'wasm'.
   */
  backend?: 'auto' | Backend;
  /**
   * Default 1. 'auto' takes half of the browser's logical processors, at most 8, and both where there are two. More than
   * one needs a page that is cross-origin isolated; `info()` says how many are used, and why. Results do not depend on it.
   */
  threads?: number | 'auto';
  /**
   * Run in a dedicated worker, so that the page stays responsive: the default on a page. In a worker of the caller's own
   * the default is false. True, and more than one of `threads`, start workers from there, in which Firefox may hang while
   * its developer tools or WebDriver are at work.
   */
  worker?: boolean;
  /** Default false: run once on zeros before `load` resolves, so that the first run is as fast as later ones. */
  warmup?: boolean;
  /** Run on this device, on the page: backend webgpu, no worker. Then its buffers can be inputs, and outputs are its. */
  device?: Global<'GPUDevice'>;
  /** Called as files arrive, last with phase 'ready'; once more where another backend is taken later. */
  onProgress?: (progress: Progress) => void;
  /** Cancels loading: `load` rejects with the signal's reason; the worker, threads and downloads end. */
  signal?: Global<'AbortSignal'>;
  /**
   * Milliseconds of silence, counted from the last byte that arrived; default 30000. After that a download rejects with a
   * DownloadError (code 'stalled'), a worker whose script does not run, or in which nothing more happens before the model is
   * ready, with a WorkerError (code 'start'); computing is no silence. Without its threads the model runs on one. 0 and
   * Infinity: no limit.
   */
  timeout?: number;
  /**
   * Default false: keep the files beside model.js, but for scripts, in the browser's Cache storage, each once it is there and
   * checked. Another visit takes them from there without asking the server, and what broke off goes on with the files that are
   * missing: 4 MiB at most arrive again. Files of an older version of the model are removed. `info().cache` says what came from there.
   */
  cache?: boolean;
  /**
   * Default 'non-finite': a run on a GPU with NaN or infinities in its output arrays, though its inputs are finite, is repeated on wasm,
   * which is loaded then. It rejects with a RunError ('wrong-results') where wasm has numbers in their place; where it has not, the
   * model itself gives them, and outputs are not searched any more. Of a bundle without wasm and of states that a run
   * changes as a whole the console has a warning instead. Outputs with 'gpu-buffer' are not searched.
   *
   * 'sample', or { every: 100 }: besides, the first run and each 100th is repeated on wasm, which is loaded at once and takes memory
   * and time of its own. Where they differ by more than rounding, the run rejects likewise, and the next one is compared,
   * too. Steps of `generate` are runs. Not for runs whose inputs are on the device: the next other one is compared
   * in place of these. False: neither.
   */
  verify?: false | 'non-finite' | 'sample' | { readonly every: number };
  /**
   * Default true: on a GPU one launch of each kernel is compared with the result that the build computed, since some drivers
   * compute wrongly without an error; a backend that fails is passed over, or rejects by name (code 'wrong-results'). As many kernels
   * are tried as fit into 50 ms, on software adapters into 2 % of the time of the load, or 'all'. On wasm relaxed SIMD and threads are.
   * False: none.
   */
  canaries?: boolean | 'all';
  // <canaries>
  /** Called with `info().canaries`, at load and whenever kernels were tried once more: after a hundred runs, and on a device after a lost one. */
  onCanaries?: (report: CanaryInfo) => void;
  // </canaries>
  // <states>
  /**
   * Default false: a lost GPU takes the states with it. True: each session keeps a copy of what its last `saveState` or `loadState`
   * had, and begins anew from there by itself, or from the last `reset`. The run that was lost rejects with a StateLostError, after
   * which `position` is that of the copy: run what came behind it again.
   */
  restoreState?: boolean;
  // </states>
  // <signature>
  /**
   * The public key that `webnn-compile --sign` printed, 32 bytes in base64: `load` first checks that the list of the bundle's files
   * is signed by it, and takes no file that the list does not have. An IntegrityError where it is not, an UnsupportedError (code
   * 'signature') where the browser has no Ed25519.
   */
  publicKey?: string;
  // </signature>
}

export interface PassedOver {
  backend: Backend;
  reason: string;
}

// <check>
export interface CheckOptions {
  /** Aborting it rejects the check. */
  signal?: AbortSignal;
}

/** Kernel whose result differs from that of WebAssembly on the same operands, at its first launch that does. */
export interface WrongKernel {
  /** Its name, and the ONNX nodes that the launch computes, with their operators. */
  kernel: string;
  nodes: string[];
  ops: string[];
  /** Number of the launch, by which kernels stand in the order of the run. */
  launch: number;
  /** The largest difference, relative to the largest magnitude of the result, or of integers in steps; and the most that is allowed. */
  apart: number;
  allowed: number;
}

/** Result of `check`. */
export interface KernelCheck {
  /** Distinct kernels whose launches were compared, and their launches, those that prepare weights included. */
  compared: number;
  launches: number;
  /** Kernels that were not: of no reference, or no memory. */
  skipped: { kernel: string; nodes: string[] }[];
  /** The largest difference of floats, as `apart`. */
  largest: number;
  /** Kernels that are wrong, in the order of the run, each on right operands. */
  wrong: WrongKernel[];
  /** Outputs of the whole run that are wrong. Where no kernel is, the fault lies between launches. */
  outputs: { name: string; apart: number; allowed: number }[];
}

// </check>
// <canaries>
/** Kernel that gave wrong results on this machine. */
export interface KernelFault {
  /** Its name, and the ONNX nodes that it computes. On wasm a relaxed instruction, or 'threads', without nodes. */
  kernel: string;
  nodes: string[];
  backend: Backend;
  /**
   * The consequence: its source for devices without subgroups was taken, or the one that computes in float32 what others do in float16,
   * or one by another schedule, the simplest, or it runs on the host, or the backend was passed over; on wasm the module of plain SIMD was
   * taken, or one thread.
   */
  action:
    | 'without-subgroups'
    | 'without-f16'
    | 'other-schedule'
    | 'host'
    | 'other-backend'
    | 'plain-simd'
    | 'one-thread';
}

/** How many kernels of the backend were tried, how many never, and those of all backends that failed. */
export interface CanaryInfo {
  checked: number;
  skipped: number;
  failed: KernelFault[];
}

interface CommonInfo {
  /** Kernels that were tried, on wasm relaxed instructions and threads: unless `canaries` is false, where there are any. */
  canaries?: CanaryInfo;
}

// </canaries>
interface CommonInfo {
  name: string;
  /** Backends that the bundle has and prefers, and why they were not taken here. */
  passedOver: PassedOver[];
  worker: boolean;
  /** 'as asked for', or by default, or why there is no worker. */
  workerReason: string;
  /** How the downloaded files were checked. */
  integrity: string;
  weightBytes: number;
  /** With `load({ cache: true })`: bytes that came from the cache, and why there is none. */
  cache?: { bytes: number; reason?: string };
  /** Bytes of weights by the type of the elements, such as { int8: 11678976, float32: 24832 }; 'int4' has two in a byte. */
  weightTypes: Readonly<Record<string, number>>;
  /** 'f16': weights and what lies in memory between kernels are float16; sums are float32 with both. */
  precision: 'f32' | 'f16';
  /** All of the WebAssembly memory, or what lies on the device. */
  memoryBytes: number;
  /** Launches of a run. */
  kernels: number;
  /** Convolutions and products of matrices in a run, by the types of operands and sums: { 'int16 and int8 in int32': 21 }. */
  products: Readonly<Record<string, number>>;
  /**
   * With `load({ verify })` on a GPU: how often runs are compared with wasm (0: not regularly), how many were, and how far results were
   * apart at most, relative to the largest value of their output. `nonFinite` is there once an output had NaN or infinities
   * that are no fault: 'expected' where wasm has them, too, 'unchecked' where that could not be found out.
   */
  verified?: { every: number; runs: number; largest: number; nonFinite?: 'expected' | 'unchecked' };
  /** The format of the bundle. */
  abi: number;
}

export interface WasmInfo extends CommonInfo {
  backend: 'wasm';
  /**
   * 'relaxed' uses relaxed SIMD, 'plain' does without; the others multiply bytes, too, as the processor takes them: 'signed',
   * 'unsigned', or 'narrow', those of weights of seven bits.
   */
  variant: 'signed' | 'unsigned' | 'narrow' | 'relaxed' | 'plain';
  threads: number;
  threadsReason: string;
  /** Bytes of what is computed from the weights at load. */
  preparedBytes: number;
  /** Bytes of tensors at their peak, inputs and outputs among them. */
  arenaBytes: number;
}

export interface DeviceInfo extends CommonInfo {
  backend: Device;
  /** As the browser names the GPU. */
  adapter: string;
  /** Whether the browser names a software adapter; the backend wasm is many times faster than these. */
  software: boolean;
  /** Limits of the device, of those that the model requires. */
  limits: Record<string, number>;
  /** Features of WebGPU that the shaders make use of: 'shader-f16' (or the model would not run), 'subgroups' where there are. */
  features: string[];
  /**
   * In how many places a run waits for the device to hand over values: to WebAssembly, or because a condition or a size that
   * it computed says how the run goes on.
   */
  crossings: number;
}

type Device = Exclude<Backend, 'wasm'>;
export type Info = ('wasm' extends Backend ? WasmInfo : never) | ([Device] extends [never] ? never : DeviceInfo);

/** Without the shape; answers have no array. */
type Data<Output> = Output extends Exclude<Answers[keyof Answers], TypedArray> | readonly unknown[]
  ? never
  : Output extends { readonly shape: infer Shape }
    ? Output extends infer Elements & { readonly shape: Shape }
      ? Elements
      : never
    : Output;

export interface RunOptions {
  /**
   * 'array' by default. 'gpu-buffer' (backend webgpu, no worker): outputs are new GPUBuffers of `model.device` with 32
   * bits an element as in OnDevice and the usages STORAGE, COPY_SRC and COPY_DST; they are the caller's to destroy.
   */
  output?: 'array' | 'gpu-buffer';
  /**
   * Arrays that outputs are written into, by name, in place of new ones: of an output's dtype, and as long as it gets, or
   * longer. What `run` returns is such an array, or its first elements as a view (`subarray`) where it is longer or the
   * output's shape is not the same in every run. They may be those of inputs. While a run is under way their contents are
   * undefined, and after one that was cancelled, too, but nothing is written there once it has rejected. RangeError for one that is too short.
   */
  into?: { readonly [Name in keyof Outputs]?: Data<Outputs[Name]> };
  /**
   * Cancels the run, which rejects at once with the signal's reason: one that is queued never starts, the result of one
   * under way is dropped, and the model stays usable. Runs with a signal and those behind them are queued on the calling
   * thread, and copy arrays only: leave an ImageBitmap, GPUBuffer or GPUTexture as it is until the run has settled.
   */
  signal?: Global<'AbortSignal'>;
}

export interface ProfileOptions {
  /** As that of `run`. */
  signal?: Global<'AbortSignal'>;
  /**
   * Each kernel so many times, 1 by default: `ms` is the mean then, `count` that of a single run. Clocks of browsers are coarse.
   */
  repeat?: number;
}

/** One launch of a run. */
export interface KernelTime {
  name: string;
  /** The ONNX nodes that it covers, and their operators. */
  nodes: string[];
  ops: string[];
  ms: number;
  /** 'gpu' is the device's own clock; 'wall' takes in the way there and back. */
  clock: 'gpu' | 'wall';
  /** How often a run repeats it: not once in a loop, or in a branch. `ms` is the time of all. */
  count: number;
  /** Floating point operations and bytes read and written, to four digits, where the compiler counted them. */
  flops?: number;
  bytes?: number;
}

// <states>
/** The states of a session by the names of their inputs; each array has its shape as the property `shape`. */
export type SavedStates = States;

/** A session: each run finds what the one before has left. Methods and runs take effect in the order of their calls. */
export interface Kept {
  /**
   * Rows of the states, those of a run under way and those that were dropped as the oldest among them; of a model whose
   * states do not grow the runs since the start.
   * A run that rejects and was carried out all the same, since its signal came late, counts; one that failed does not.
   */
  readonly position: number;
  /** The states as before the first run: zero, of no rows. */
  reset(): Promise<void>;
  /** Copies of the states, of the shapes that they have now. */
  saveState(): Promise<SavedStates>;
  /** The states become copies of those that `saveState` gave, of this session or another, or of others of such shapes. */
  loadState(saved: { readonly [Name in keyof States]: Data<States[Name]> | Shaped<Data<States[Name]>> }): Promise<void>;
  /** Drops the last rows, of those that are there. Rejects where a state does not grow: load what was saved there. */
  rewind(rows: number): Promise<void>;
  /** A new session with copies of these states. */
  fork(): Promise<Session>;
}

/** States of their own over one copy of the weights. */
export interface Session extends Kept {
  /** As that of the model. Runs of several sessions do not wait for each other's results, and are computed one by one. */
  run(inputs: Inputs, options?: RunOptions & { output?: 'array' }): Promise<Outputs>;
  run(
    inputs: Inputs,
    options: RunOptions & { output: 'gpu-buffer' },
  ): Promise<{ [Name in keyof Outputs]: Global<'GPUBuffer'> & { readonly shape?: readonly number[] } }>;
  /** Leaves the memory of its states to others; its runs that wait reject. */
  dispose(): Promise<void>;
}

export interface Model extends Kept {
  /** A session without rows, independent of all others and of the model's own runs. */
  session(): Promise<Session>;
}
// </states>

// <generate>
/** How the next token is chosen, in this order: penalty, temperature, topK, topP, minP. */
export interface Sampling {
  /** 0, the default, takes the likeliest token, and nothing below but the penalty applies; else logits are divided by it. */
  temperature?: number;
  /** The k largest logits stay; 0, the default: all. */
  topK?: number;
  /** As many of the likeliest of these stay as it takes for their probabilities to reach it; 1, the default: all. */
  topP?: number;
  /** All of these stay that are at least so many times as likely as the likeliest; 0, the default: all. */
  minP?: number;
  /** Logits of tokens that occurred are divided by it where positive, else multiplied; default 1. */
  repetitionPenalty?: number;
  /** A whole number of 32 bits, default 0, by which random numbers are drawn: the same one gives the same tokens on every backend. */
  seed?: number;
}

/** `logprob` is the logarithm of its probability by the logits, before all options; NaN where one of these is NaN or infinity. */
export interface Token {
  readonly token: number;
  readonly logprob: number;
  /** The likeliest tokens, the likeliest first, of a model that was built with `top=N`. */
  readonly top: readonly { readonly token: number; readonly logprob: number }[];
}

export interface GenerateOptions extends Sampling {
  /** The prompt: tokens. */
  ids?: readonly (number | bigint)[] | TypedArray;
  /** So many tokens at most; by default, or Infinity, until one of `stop` or `end`, or until the states are full. */
  maxTokens?: number;
  /** Tokens that end it, and are not given; with `text` strings, too. */
  stop?: readonly (number | string)[];
  /** Tokens that do so besides: by default the ones that end a text of the model; [] for none. */
  end?: readonly number[];
  /**
   * Ends it: what waits for a token rejects at once with the signal's reason. With `resume` the next `generate` goes on with
   * the token that follows.
   */
  signal?: Global<'AbortSignal'>;
  /**
   * Default false: the states are reset before. True: it goes on from what the session has, with what comes last and is not in the
   * states yet, and `ids` behind it.
   */
  resume?: boolean;
  /** Other inputs of each run, such as what an encoder gave. */
  inputs?: Partial<Inputs>;
  /** Default false. True: tokens come with their probabilities. */
  logprobs?: boolean;
}

export interface RunOptions {
  /** How the token that a run gives is chosen: by default it is the likeliest. */
  sampling?: Sampling;
}

export interface Kept {
  /**
   * Tokens behind `ids`, one at a time, each computed when it is asked for, or one ahead (`info().ahead`). One `generate` of a session is under way at a time,
   * another one rejects (`busy`), and so does this one once something else has changed the states. Rejects with a StateFullError
   * where there is no room for more. A session whose `for await` was left by break, or that was aborted, is in order.
   */
  generate(options: GenerateOptions & { logprobs: true }): AsyncGenerator<Token, void, undefined>;
  generate(options: GenerateOptions): AsyncGenerator<number, void, undefined>;
}

/** Bytes of a step of one token. */
export interface PerToken {
  /** Its inputs. */
  given: number;
  /** Sizes that launches take, which go to a GPU besides; none on wasm. */
  uniforms: number;
  /** Its outputs. */
  received: number;
}

interface CommonInfo {
  /** The last step of one token. */
  perToken?: PerToken;
  /** A GPU, or the worker, computes one token more than `generate` has given: the next one begins while the last comes back. */
  ahead?: true;
}
// </generate>
// <pieces>
export interface GenerateOptions {
  /**
   * The prompt in place of `ids`: `generate` gives pieces of text, of whole characters, and in `stop` there may be strings; what
   * may be the beginning of one waits. '' with `resume` goes on with the text of the tokens before.
   */
  text?: string;
}

export interface Kept {
  generate(options: GenerateOptions & { text: string }): AsyncGenerator<string, void, undefined>;
}
// </pieces>
// <chat>
/** A turn of a conversation: `role` is 'user', 'assistant' or 'system', or another one that the model's chat template has. */
export interface Message {
  readonly role: string;
  readonly content: string;
}

export interface GenerateOptions {
  /**
   * The whole conversation in place of `text`: the model's chat template makes the prompt of it, and `generate` gives pieces of the
   * answer. Not together with `resume`.
   */
  messages?: readonly Message[];
}

export interface Kept {
  generate(options: GenerateOptions & { messages: readonly Message[] }): AsyncGenerator<string, void, undefined>;
}

interface CommonInfo {
  /** Whether `generate` takes messages. */
  messages?: boolean;
}
// </chat>

export interface Model {
  /** Name, dtype and shape of each input, in the model's order. */
  readonly inputs: InputInfo;
  /** Name, dtype and shape of each output, in the model's order; name and kind of an answer. */
  readonly outputs: OutputInfo;
  /** The sizes that each run decides. */
  readonly dimensions: readonly Dimension[];
  /** The shapes of the inputs where `dimensions` have these values, by name. */
  inputShapes(sizes?: Readonly<Record<string, number>>): Record<InputInfo[number]['name'], number[]>;
  /** Another one where that of the load is given up later, as `info().passedOver` says. */
  readonly backend: Backend;
  /** The device of the backend webgpu without a worker; another one after a loss. */
  readonly device: Global<'GPUDevice'> | undefined;
  /**
   * Takes and returns typed arrays by name, row-major. Calls queue. The arrays given are not changed, those returned are
   * the caller's own; an output whose shape is not the same in every run has it as its property `shape`.
   */
  run(inputs: Inputs, options?: RunOptions & { output?: 'array' }): Promise<Outputs>;
  run(
    inputs: Inputs,
    options: RunOptions & { output: 'gpu-buffer' },
  ): Promise<{ [Name in keyof Outputs]: Global<'GPUBuffer'> & { readonly shape?: readonly number[] } }>;
  /**
   * Runs once, or `repeat` times, each kernel by itself, and returns the time that each took. Where the file with their names (backend wasm)
   * did not arrive, this rejects, and not `load`.
   */
  profile(inputs: Inputs, options?: ProfileOptions): Promise<KernelTime[]>;
  // <check>
  /**
   * Runs on these inputs, and compares each launch of the GPU with WebAssembly on the same operands, and then the outputs of a run
   * of the model's own: takes much longer than a run, and as much memory once more. Rejects with an UnsupportedError (code 'check')
   * where there is nothing to compare. States stay as they are.
   */
  check(inputs: Inputs, options?: CheckOptions): Promise<KernelCheck>;
  // </check>
  /** How the model runs, and why so: backend, worker, threads, sizes. */
  info(): Info;
  /** Frees the memory and ends the worker; pending runs reject. */
  dispose(): Promise<void>;
}

/** Downloads the files beside model.js, checks them and starts the model; rejects with one of the errors below. */
export function load(options?: LoadOptions): Promise<Model>;
// </function>

/** The files of this bundle that `load({ cache: true })` keeps in this browser. */
export interface ModelCache {
  /** Bytes of the files that are kept. */
  size(): Promise<number>;
  /** Removes them; false where there were none. */
  clear(): Promise<boolean>;
}
export const cache: ModelCache;

export class ModelError<Code extends string = string> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string);
}
/** A file did not arrive, or a page of HTML in its place, or nothing more for `timeout`. */
export class DownloadError extends ModelError<'network' | 'http' | 'html' | 'stalled'> {}
/** A file arrived with other bytes than the compiler wrote. */
export class IntegrityError extends ModelError<'length' | 'altered'> {}
/** The browser or the bundle cannot do it. */
export class UnsupportedError extends ModelError<
  'abi' | 'backend' | 'limits' | 'simd' | 'compile' | 'memory' | 'signature' | 'check' | 'wrong-results'
> {}
/** The worker did not start, or died. */
export class WorkerError extends ModelError<'start' | 'crash'> {}
/**
 * The compiled code stopped, the GPU reported an error, the inputs lead to a branch that does not fit the sizes that the model
 * was compiled for, the model was disposed of, its session is `busy` with another `generate`, or results are other ones than on wasm.
 */
export class RunError extends ModelError<'trap' | 'device' | 'refused' | 'disposed' | 'busy' | 'wrong-results'> {}
// <states>
/** A run that needs more rows than the states have room for: it computes nothing, and leaves the states as they are. */
export class StateFullError extends ModelError<'state-full'> {}
/**
 * States that are gone with the GPU, or of fixed size and undefined after a run that failed: `reset()` begins anew,
 * `loadState()` goes on from what was saved.
 */
export class StateLostError extends ModelError<'state-lost'> {}
// </states>
/** The GPU was taken away (a driver's reset, a sleeping phone) and could not be had again; the next run tries once more. */
export class DeviceLostError extends ModelError<'lost'> {}
