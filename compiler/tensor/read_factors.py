"""Factors of single elements are read from memory, so that kernels that compute these again differ in no number."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from ..ir.nodes import Binary, Const, Load
from .program import TensorProgram
from .replace_tensors import replace_tensors
from .tensor import Tensor, constant


def read_factors(program: TensorProgram) -> TensorProgram:
    """y[] = x[] * 0.0021   ->   y[] = x[] * factor[]

    Where launches cost more, y is part of its readers (`fuse`): products of all layers, each of which has a factor of
    its own, are one kernel then, which a device compiles once.
    """
    return replace_tensors(program, lambda t: [_read_factor(t)])


def _read_factor(t: Tensor) -> Tensor:
    match t.body:
        case Binary("*", Load() as x, Const(value, dtype)) if (
            dtype.is_float and prod(t.extents) == 1 and not t.prepared
        ):
            factor = constant(f"{t.name}.factor", np.asarray(value, dtype.numpy))
            return replace(t, body=Binary("*", x, Load(factor.buffer, ())), reads=(*t.reads, factor))
    return t
