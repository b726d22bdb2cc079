"""Products of quantised operands: sums of integers, brought to the scale of the result as onnxruntime does."""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import F32
from ...ir.nodes import Const, Expr
from ...ir.sizes import Size
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..broadcast import broadcast_element, broadcast_shape
from ..call import Call
from ..products.convolution import add_bias, integer_conv_of
from ..products.linear import integer_mat_mul_of
from .quantizing import quantum
from .zero_points import unless_zero


def qlinear_conv(call: Call) -> Tensor:
    """ONNX QLinearConv: ConvInteger of x and w, plus a bias in int32 of the scale x_scale * w_scale. That scale and the
    zero point of w are scalars, or one per filter."""
    filters, spatial = call.input(3).shape[0] if call.input(3).rank else 1, call.input(0).rank - 2
    x_zero, w_zero = parameter(call, 2), parameter(call, 5, filters)
    total = add_bias(call, integer_conv_of(call, (0, 3), (unless_zero(x_zero), unless_zero(w_zero))), 8)
    scales = parameter(call, 1), parameter(call, 4, filters, spatial), parameter(call, 6)
    return requantized(call, total, scales, parameter(call, 7))


def _qlinear_mat_mul(call: Call) -> Tensor:
    """ONNX QLinearMatMul: MatMulInteger of a and b. Scales and zero points are scalars, or one per row of a and of the
    result and per column of b."""
    a, b = call.input(0), call.input(3)
    total = integer_mat_mul_of(call, (0, 3), (2, 5))
    rows = (a.shape[-2] if a.rank > 1 else None, 1 if b.rank > 1 else 0)
    columns = b.shape[-1] if b.rank > 1 else None
    scales = parameter(call, 1, *rows), parameter(call, 4, columns), parameter(call, 6, *rows)
    return requantized(call, total, scales, parameter(call, 7, *rows))


def parameter(call: Call, index: int, count: Size | None = None, behind: int = 0) -> Tensor:
    """The scale or zero point that is input `index`, to broadcast with the result: a scalar, or one for each of `count`
    with that many dimensions behind. Raises UnsupportedError where it has another shape."""
    t = call.input(index)
    if t.buffer.size == 1:
        return fold(compute(f"{call.name}.{index}", (), (t,), lambda: t.read([Const(0)] * t.rank)))
    t = call.input(index, () if count is None else (count,))
    return fold(compute(f"{call.name}.{index}", (*t.shape, *[1] * behind), (t,), lambda i, *_: t[i]))


def requantized(call: Call, total: Tensor, scales: tuple[Tensor, Tensor, Tensor], zero: Tensor) -> Tensor:
    """The sums times the operands' scales over the result's, computed in float32 in onnxruntime's order."""
    factor = _factor(call, scales)

    def body(*i: Expr) -> Expr:
        scaled = total[i].cast(F32) * broadcast_element(factor, i)
        return quantum(scaled, broadcast_element(zero, i), zero.dtype)

    return compute(f"{call.name}.quantized", total.shape, (total, factor, zero), body)


def dequantized(call: Call, total: Tensor, scales: tuple[Tensor, Tensor], bias: Tensor | None = None) -> Tensor:
    """The sums times the operands' scales, plus `bias` along the last axis, computed in float32; of the type of the
    scales."""
    factor = _factor(call, scales)

    def body(*i: Expr) -> Expr:
        value = total[i].cast(F32) * broadcast_element(factor, i)
        return (value if bias is None else value + bias[i[-1],].cast(F32)).cast(scales[0].dtype)

    return compute(f"{call.name}.scaled", total.shape, (total, factor, bias), body)


def _factor(call: Call, scales: Sequence[Tensor]) -> Tensor:
    """The product of the operands' scales, over the result's where that is given, too."""

    def ratio(*i: Expr) -> Expr:
        a, b, *y = (broadcast_element(t, i).cast(F32) for t in scales)
        return a * b / y[0] if y else a * b

    return fold(compute(f"{call.name}.factor", broadcast_shape(call, [t.shape for t in scales]), list(scales), ratio))


OPERATORS = {"QLinearConv": qlinear_conv, "QLinearMatMul": _qlinear_mat_mul}
