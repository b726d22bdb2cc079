// Imports of ONNX files, where vite-plugin-webnn-compile is in use; model.d.ts of a bundle has the types of the one model.

interface WebnnModel {
  readonly inputs: readonly { name: string; dtype: string; shape: readonly (number | string)[] }[];
  readonly outputs: readonly { name: string; dtype: string; shape: readonly (number | string)[] }[];
  readonly backend: 'webgpu' | 'webgl' | 'wasm';
  run(
    inputs: Readonly<Record<string, unknown>>,
    options?: object,
  ): Promise<Record<string, Iterable<number | bigint> & ArrayLike<number | bigint>>>;
  profile(inputs: Readonly<Record<string, unknown>>, options?: object): Promise<object[]>;
  info(): Readonly<Record<string, unknown>>;
  dispose(): Promise<void>;
}

declare module '*.onnx' {
  export function load(options?: object): Promise<WebnnModel>;
}
declare module '*.onnx?*' {
  export function load(options?: object): Promise<WebnnModel>;
}
