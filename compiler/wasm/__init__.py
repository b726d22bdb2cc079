"""WebAssembly: LLVM IR to an object, objects to modules, and running a module outside a browser."""
