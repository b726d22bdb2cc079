// What TypeScript's library lacks, and the module that webnn-compile writes.

declare abstract class AudioWorkletProcessor {
  readonly port: MessagePort;
  process(inputs: Float32Array[][], outputs: Float32Array[][]): boolean;
}

declare function registerProcessor(name: string, type: new (options: any) => AudioWorkletProcessor): void;

declare module '*/bundle/model.js' {
  const load: typeof import('../../runtime-js/model.js').load;
  export { load };
}
