"""Reductions of tensors, before loops make them."""

from __future__ import annotations

from dataclasses import dataclass

from ..dtypes import DType
from .nodes import Const, Expr, Var

# The operator by which a reduction combines its accumulator with the next value.
COMBINE = {"sum": "+", "prod": "*", "max": "max", "min": "min"}


@dataclass(frozen=True, slots=True)
class Reduce(Expr):
    """`op` over all values of `axes`, started from `init`. op = sum | prod | max | min.

    Only as the whole body of a `Tensor`; `build_kernel` turns it into loops.
    """

    op: str
    axes: tuple[Var, ...]
    value: Expr
    init: Const

    @property
    def dtype(self) -> DType:
        return self.value.dtype
