"""Compilation for processors: from lowered kernels to a program."""
