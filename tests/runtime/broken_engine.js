/**
 * WebAssembly that takes one instruction of relaxed SIMD for another one, in all modules; the page under test and its workers run
 * this file as a script, too.
 * @param {number} from second byte of its code
 * @param {number} to
 */
globalThis.breakEngine = (from, to) => {
  const { compile, Module } = WebAssembly;
  const broken = (code) =>
    new Uint8Array(code).map((byte, i, all) => (byte === from && all[i - 1] === 0xfd && all[i + 1] === 2 ? to : byte));
  WebAssembly.compile = (code) => compile(broken(code));
  WebAssembly.Module = class extends Module {
    constructor(code) {
      super(broken(code));
    }
  };
  return () => Object.assign(WebAssembly, { compile, Module });
};
