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

export interface TensorInfo<Name = string, DType = string, Shape = readonly number[]> {
  readonly name: Name;
  readonly dtype: DType;
  readonly shape: Shape;
}

// <model>
export type Inputs = Readonly<Record<string, TypedArray>>;
export type Outputs = Record<string, TypedArray>;
export type InputInfo = readonly TensorInfo[];
export type OutputInfo = readonly TensorInfo[];
// </model>

/** `loaded` and `total` are bytes after decompression. */
export interface Progress {
  phase: 'code' | 'weights' | 'ready';
  loaded: number;
  total: number;
}

export interface LoadOptions {
  /** 'auto', the default, takes the first backend of the bundle that the browser can run. */
  backend?: 'auto' | 'wasm';
  /**
   * Default 1. 'auto' takes half of the browser's logical processors, at most 8, and both where there are two. More than
   * one needs a page that is cross-origin isolated; `info()` says how many are used, and why. Results do not depend on it.
   */
  threads?: number | 'auto';
  /** Default true: run in a dedicated worker, so that the page stays responsive. */
  worker?: boolean;
  /** Default false: run once on zeros before `load` resolves, so that the first run is as fast as later ones. */
  warmup?: boolean;
  /** Called as files arrive, last with phase 'ready'. */
  onProgress?: (progress: Progress) => void;
}

export interface Info {
  name: string;
  backend: 'wasm';
  /** 'relaxed' uses relaxed SIMD, 'plain' does without. */
  variant: 'relaxed' | 'plain';
  threads: number;
  threadsReason: string;
  worker: boolean;
  /** How the downloaded files were checked. */
  integrity: string;
  weightBytes: number;
  /** All of the WebAssembly memory. */
  memoryBytes: number;
  kernels: number;
  /** The format of the bundle. */
  abi: number;
}

export interface Model {
  /** Name, dtype and shape of each input, in the model's order. */
  readonly inputs: InputInfo;
  /** Name, dtype and shape of each output, in the model's order. */
  readonly outputs: OutputInfo;
  readonly backend: 'wasm';
  /** Takes and gives typed arrays by name, row-major. Calls queue. The arrays given are not changed, those returned are the caller's own. */
  run(inputs: Inputs): Promise<Outputs>;
  /** How the model runs: backend, threads, sizes. */
  info(): Info;
  /** Frees the memory and ends the worker; pending runs reject. */
  dispose(): Promise<void>;
}

/** Downloads the files beside model.js, checks them and starts the model; rejects with one of the errors below. */
export function load(options?: LoadOptions): Promise<Model>;

export class ModelError<Code extends string = string> extends Error {
  readonly code: Code;
  constructor(code: Code, message: string);
}
/** A file did not arrive, or a page of HTML in its place. */
export class DownloadError extends ModelError<'network' | 'http' | 'html'> {}
/** A file arrived with other bytes than the compiler wrote. */
export class IntegrityError extends ModelError<'length' | 'altered'> {}
/** The browser or the bundle cannot do it. */
export class UnsupportedError extends ModelError<'abi' | 'backend' | 'simd' | 'compile' | 'memory'> {}
/** The worker did not start, or died. */
export class WorkerError extends ModelError<'start' | 'crash'> {}
/** The compiled code stopped, or the model was disposed of. */
export class RunError extends ModelError<'trap' | 'disposed'> {}
