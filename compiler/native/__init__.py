"""The host CPU: kernels by LLVM's JIT, in this process."""
