"""One operation on whole arrays at once: a kernel of a single store whose vectors are as long as the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from webnn_compile.dtypes import from_numpy
from webnn_compile.ir.interpret import interpret
from webnn_compile.ir.lanes import Ramp
from webnn_compile.ir.nodes import Buffer, Const, Expr, Kernel, Load, Store
from webnn_compile.ir.verify import verify_kernel

Array = np.ndarray[Any, np.dtype[Any]]


def vector_kernel(body: Callable[..., Expr], *arrays: Array) -> Kernel:
    """y[0..+n] = body(x0[0..+n], ...)"""
    n = arrays[0].size
    at = (Ramp(Const(0), n),)
    read = [Buffer(f"x{i}", (n,), from_numpy(a.dtype)) for i, a in enumerate(arrays)]
    value = body(*(Load(b, at) for b in read))
    made = Buffer("y", (n,), value.dtype)
    return Kernel("vector", (*read, made), Store(made, at, value))


def run_pass(change: Callable[[Kernel], Kernel], body: Callable[..., Expr], *arrays: Array) -> Array:
    """The result of `body` on `arrays` (one-dimensional, of one length) after the pass, found valid."""
    kernel = change(vector_kernel(body, *arrays))
    verify_kernel(kernel, change.__name__)
    result = np.zeros(kernel.params[-1].shape, kernel.params[-1].dtype.numpy)
    interpret(kernel, [*arrays, result])
    return result
