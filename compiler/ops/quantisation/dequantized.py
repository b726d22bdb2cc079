"""Quantised tensors as floats."""

from __future__ import annotations

from ...dtypes import F32, I32
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..broadcast import scalar_element
from ..call import Call


def dequantized_by(call: Call, operand: int, x: Tensor, scale_at: int, zero_at: int) -> Tensor:
    """(x - zero point) * scale of `x`, which is the operand of input `operand` or part of it; scale and zero point are
    the scalars at these inputs."""
    scale, zero = scalar(call, scale_at), scalar_element(call, zero_at, "zero point")

    def body(*i: Expr) -> Expr:
        value = x[i].cast(I32)
        return (value if zero is None else value - zero.cast(I32)).cast(F32) * scale

    reads = (x, call.input(scale_at), call.optional(zero_at))
    return compute(f"{call.name}.{operand}", x.shape, reads, body)


def scalar(call: Call, index: int) -> Expr:
    """The scale that is input `index`."""
    call.input(index)
    scale = scalar_element(call, index, "scale")
    assert scale is not None
    return scale
