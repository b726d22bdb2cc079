"""Lowering passes, each `Kernel -> Kernel` and named like its file."""
