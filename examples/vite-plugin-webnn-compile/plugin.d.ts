import type { Plugin } from 'vite';

export interface Settings {
  /** The compiler and its first arguments; ['webnn-compile'] by default. */
  command?: readonly string[];
  /** Arguments for all models, such as ['--targets', 'webgpu,wasm']. */
  options?: readonly string[];
}

/** Imports of `.onnx` files give what `webnn-compile` makes of them: the exports of its `model.js`. */
export default function webnnCompile(settings?: Settings): Plugin;
