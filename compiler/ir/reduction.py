"""Reductions of tensors, before loops make them."""

from __future__ import annotations

from dataclasses import dataclass

from ..dtypes import DType, highest, lowest
from .nodes import Const, Expr, Var

# The operator by which a reduction combines its accumulator with the next value.
COMBINE = {"sum": "+", "prod": "*", "max": "max", "min": "min", "max_nan": "max_nan", "min_nan": "min_nan"}

# For integers, which have no NaN.
WITHOUT_NAN = {"max_nan": "max", "min_nan": "min"}


def neutral(op: str, dtype: DType) -> Const:
    """The operand with which `op`, one of COMBINE, leaves any other unchanged."""
    value: int | float = {"+": 0, "*": 1, "max": lowest(dtype), "min": highest(dtype)}[WITHOUT_NAN.get(op, op)]
    return Const(float(value) if dtype.is_float else value, dtype)


@dataclass(frozen=True, slots=True)
class Reduce(Expr):
    """`op` over all values of `axes`, started from `init`. op = sum | prod | max | min | max_nan | min_nan.

    A NaN among the values is the result of max_nan and min_nan; max and min pass over it, and take fewer instructions.
    Only as the whole body of a `Tensor`; `build_kernel` turns it into loops.
    """

    op: str
    axes: tuple[Var, ...]
    value: Expr
    init: Const

    @property
    def dtype(self) -> DType:
        return self.value.dtype
