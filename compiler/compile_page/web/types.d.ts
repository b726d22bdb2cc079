// The types of compiler.js: webnn-compile in a page. Models stay in it. In the built folder this is compiler.d.ts.

import type { LoadOptions, Model } from '../../../runtime-js/model.js';

/**
 * A model's file, or several: one named *.onnx, the files of its external data, and those that options name. Bytes by
 * name, or files as an <input> or a drop has them.
 */
export type Source =
  | Blob
  | ArrayBuffer
  | Uint8Array
  | readonly File[]
  | FileList
  | Readonly<Record<string, Blob | ArrayBuffer | Uint8Array>>;

export type Target = 'webgpu' | 'webgl';

/** Progress of the compiler: `phase` is 'download' (`loaded` of `total` bytes), 'start', or a phase of the build. */
export interface Progress {
  phase: string;
  loaded?: number;
  total?: number;
}

/** A size: a number, or the least and the most one that a run may have, and perhaps what it is a multiple of. */
export type Dim = number | readonly [number, number] | readonly [number, number, number];

export type FormatValue = number | string | boolean | null | readonly (number | string)[];

/** A name of the compiler's table, or an object as --picture and --sound read it from a file: `like` names the one that has the other fields. */
export type Format = string | ({ readonly like?: string } & Readonly<Record<string, FormatValue>>);

/** Formats by name, and the values of those of their fields that have a few. */
export interface FormatTable {
  named: Readonly<Record<string, Readonly<Record<string, FormatValue>>>>;
  choices: Readonly<Record<string, readonly (string | null)[]>>;
}

/**
 * The compiler's tables of what fills inputs and of what runs return: kinds of answers, with presets, whether a file can
 * give another one, and what to write.
 */
export interface Formats {
  pictures: FormatTable;
  sounds: FormatTable;
  answers: Readonly<Record<string, { presets: readonly string[]; file: boolean; example: string }>>;
}

interface Common {
  /** Rejects with the signal's reason. What is being computed ends with the compiler's worker, which the next call starts again. */
  signal?: AbortSignal;
}

export interface CompileOptions extends Common {
  /** Shapes of inputs that are free, by name; a name in place of a number is for `dims`. */
  shapes?: Readonly<Record<string, readonly (number | string)[]>>;
  /** How long the dimensions of a name are. What is left to each run then comes with the inputs of `run`. */
  dims?: Readonly<Record<string, Dim>>;
  /** Outputs that are inputs of the next run, as --state has them; by default the caches of decoders by their usual names, [] for none. */
  states?: readonly string[];
  /** Inputs that runs are given, though they follow from states. */
  given?: readonly string[];
  /** The rows that states keep, as --state-window has it: the oldest are dropped where there would be more. */
  stateWindow?: number;
  /**
   * The model gives tokens, one by one, as with --generate: true, or what that takes, 'ids=tokens,logits=scores,top=5'. Which
   * tokens end a text says a generation_config.json, config.json or tokenizer_config.json among the files of the source.
   */
  generate?: boolean | string;
  /** Formats of inputs that pictures fill, by name: 'imagenet', or an object such as { like: 'unit', colours: 'bgr' }. */
  pictures?: Readonly<Record<string, Format>>;
  /** Formats of inputs that sounds fill. */
  sounds?: Readonly<Record<string, Format>>;
  /**
   * Results of runs in place of outputs, as --answer has it: 'classify,top=5', 'detect=yolox'; for 'detect=own.json' this
   * file is among those of the source.
   */
  answers?: readonly string[];
  /** Labels of the classes of answers: a file, as --labels reads it, or a list. */
  labels?: File | readonly string[];
  /** Default: both. */
  targets?: readonly Target[];
  /** 'f16' stores weights as float16, and on WebGPU what lies between kernels. */
  precision?: 'f32' | 'f16';
  /**
   * Stores the weights of layers in fewer bits, as --weights does: 'f16', 'int8', 'int4', 'nf4', or one with a scale for each
   * block, 'int4:block=32'. Errors are those of the weights, since no layer runs here while compiling.
   */
  weights?: string;
  /** Default true: Winograd's algorithm where it pays, whose results differ in the fourth digit. */
  fastMath?: boolean;
  /** Text of records, as `tune` returns it or webnn-tune writes it. */
  records?: string;
  /** The worker is ended after so many seconds of this call, with a CompileError of kind 'input'; the next call starts another. */
  maxSeconds?: number;
  /**
   * Bytes that compiling may take, as --compile-memory: by estimate, and as the worker's memory grows, with 512 MiB besides for the
   * compiler itself. Beyond them the worker is ended as by `maxSeconds`. WebAssembly has 4 GiB at most.
   */
  compileMemory?: number;
  onProgress?: (progress: Progress) => void;
}

export interface Port {
  name: string;
  dtype: string;
  /** A name or null for a size that is free; null where not even the number of dimensions is known. */
  shape: readonly (number | string | null)[] | null;
}

/** Metadata of a model's file. */
export interface Card {
  name: string;
  bytes: number;
  /** The program that wrote the file; '' where it does not say. */
  producer: string;
  /** Licence that the file says, such as 'Apache-2.0'; '' where it does not. */
  licence: string;
  description: string;
  author: string;
  /** The opset of ONNX; 0 in other formats. */
  opset: number;
  /** Numbers of nodes by operator. */
  operators: Readonly<Record<string, number>>;
  /** Names of operators that are not supported. */
  unsupported: readonly string[];
  /** Elements of constants. */
  parameters: number;
  /** Bytes of constants by the type of their elements. */
  weights: Readonly<Record<string, number>>;
  inputs: readonly Port[];
  outputs: readonly Port[];
  /** Signatures of TFLite models and SavedModels; the card describes the first, which is the one that is compiled. */
  signatures: readonly string[];
}

/** Layers whose weights are in fewer bits; `kept` says why one stays in float32, `error` is that of its weights, null where these are NaN or infinite. */
export interface Quantization {
  form: string;
  layers: readonly {
    node: string;
    operator: string;
    weights: string;
    bytes: { before: number; after: number };
    error: number | null;
    kept?: string;
  }[];
}

export interface Report {
  /** By phase, those of the build; `onProgress` has the same names, with details in parentheses. */
  seconds: Readonly<Record<string, number>>;
  /** By target the kernels of a run. */
  kernels: Readonly<Partial<Record<Target, number>>>;
  /** By target the products of a run, by the types of operands and sums. */
  products: Readonly<Partial<Record<Target, Readonly<Record<string, number>>>>>;
  /** Results of runs in place of outputs, in words. */
  answers: Readonly<Record<string, string>>;
  weightBytes: number;
  /** Bytes of weights by the type of the elements. */
  weightTypes: Readonly<Record<string, number>>;
  /** With the option `weights`. */
  quantization?: Quantization;
  /** All files of the bundle. */
  bundleBytes: number;
  /** Size of the compiler's memory. */
  heapBytes: number;
}

/** Its inputs, outputs and dimensions are those of the model that it loads, but for lengths of states. */
export interface CompiledModel extends Pick<Model, 'inputs' | 'outputs' | 'dimensions' | 'inputShapes'> {
  /** Whether the model keeps states between runs. */
  readonly hasStates: boolean;
  readonly name: string;
  /**
   * The files of the bundle by name: those that the command line writes with the same options and the same version of onnx
   * (1.23.2). Constants that are computed by functions such as exp while compiling may differ in their last digit.
   */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** A script for a page of one's own, beside which the archive was unpacked. */
  readonly code: string;
  readonly report: Report;
  /** Starts the model in this page, as the bundle's `load` does. `worker` is as there. */
  load(options?: LoadOptions): Promise<Model>;
  /** The bundle as an archive. */
  zip(): Promise<Blob>;
}

/** The progress of a search: `gain` is the model's time in units of the default's, `points` its history by trials. */
export interface TuneStatus {
  phase: string;
  task: string;
  trials: number;
  of: number;
  failed: number;
  gain: number;
  left: number | null;
  points: readonly (readonly [number, number])[];
}

export interface TuneOptions extends Omit<CompileOptions, 'targets' | 'onProgress'> {
  target: Target;
  /** Default 60. */
  seconds?: number;
  /** Candidates at most; default 200. */
  trials?: number;
  onStatus?: (status: TuneStatus) => void;
}

export interface Tuned {
  /** For the option `records` of `compile`, or a file for webnn-compile's; those that were given are among them. */
  records: string;
  /** The model's time in units of the default's; 1 where nothing is faster. */
  gain: number;
  trials: number;
  failed: number;
  device: string;
}

/** A compiler in a worker of its own. Calls queue. */
export interface Compiler {
  formats(options?: Common): Promise<Formats>;
  /** Describes the model's file, without compiling it. */
  describe(source: Source, options?: Common): Promise<Card>;
  compile(source: Source, options?: CompileOptions): Promise<CompiledModel>;
  /**
   * Searches faster schedules for a model by measuring them in this page, which must be cross-origin isolated.
   * Keeps what was found when `signal` is aborted with the reason 'stop'.
   */
  tune(source: Source, options: TuneOptions): Promise<Tuned>;
  /** Ends the worker and frees its memory; models that were loaded go on. */
  close(): void;
}

export interface OpenOptions extends Common {
  onProgress?: (progress: Progress) => void;
  /** Called when the worker died and is started again; `reason` says why. A call that was aborted is no death. */
  onRestart?: (reason: string) => void;
}

/** Downloads and starts the compiler; CompileError (kind 'start') where it does not. */
export function openCompiler(options?: OpenOptions): Promise<Compiler>;

/** Compiles with one compiler that all calls of the page share, opened by the first. */
export function compileModel(source: Source, options?: CompileOptions): Promise<CompiledModel>;

/**
 * `kind`: 'input' (the model or the options: the message says what to do, as the command line's does), 'fault' (of the
 * compiler), 'crash' (its worker died), 'start' (it could not be had).
 */
export class CompileError extends Error {
  readonly kind: 'input' | 'fault' | 'crash' | 'start';
  constructor(kind: CompileError['kind'], message: string);
}
