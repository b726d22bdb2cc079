"""Modules that renderers share: LLVM IR as text from lowered kernels, and the host program around them."""
