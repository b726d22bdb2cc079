"""Lowered kernels printed in languages like C: WGSL, GLSL, OpenCL C, CUDA C++ and C itself.

    writer = Writer(MyDialect(...), {block_or_thread_variable: "name", ...})
    lines = writer.write(grid.body)

A `Dialect` says how the language writes types, operations and accesses to global memory (`dialect.py`); the writer does
the rest, the same for all: statements, names, which expressions are computed once (`number.py`), which local buffers
are variables and which arrays (`locals.py`). Kernels are lowered before: no VECTOR or UNROLL loops, vectors of equal
lanes, only the operations of `ir/verify.LOWERED_*`, no guarded loads, local and shared buffers with one dimension;
global buffers may have several.

An expression is written where it is used. It gets a name (`let t3 = ...;`) where a block uses it more than once, and
arithmetic on indices that does not change in a loop is computed before that loop. Equal loads are one load until a
store may change what they read.
"""

from .c_like import CLike
from .dialect import ATOM, LOWEST, PRODUCT, SUM, Dialect, Text
from .write import Writer

__all__ = ["ATOM", "LOWEST", "PRODUCT", "SUM", "CLike", "Dialect", "Text", "Writer"]
