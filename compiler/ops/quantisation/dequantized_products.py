"""Products of quanta, scaled to float32: what products of dequantised operands become; and quanta for them.

They are of the compiler's own domain: `graph/integer_products` makes them of ai.onnx's Conv, ConvTranspose,
MatMul and Gemm, and
`graph/centre_quanta` of QuantizeLinear. The inputs of products: two operands, their zero points or none, the factor of
the sums, and a bias or none; factor and bias are scalars, or of one element for each filter or column.
"""

from __future__ import annotations

from dataclasses import replace

from ...dtypes import F32, I16
from ...ir.construct import maximum, minimum, unary
from ...ir.nodes import Const, Expr
from ...tensor import Tensor, compute
from ..call import Call
from ..products.convolution import integer_conv_of
from ..products.convolution_transpose import integer_conv_transpose_of
from ..products.linear import integer_mat_mul_of
from .zero_points import zero_point


def _dequantized_conv(call: Call) -> Tensor:
    """float32(ConvInteger(x, w, x_zero_point, w_zero_point)) * factor + bias, with the attributes of that."""
    return _scaled(call, integer_conv_of(call, (0, 1), (zero_point(call, 2), zero_point(call, 3))), 1)


def _dequantized_mat_mul(call: Call) -> Tensor:
    """float32(MatMulInteger(a, b, a_zero_point, b_zero_point)) * factor + bias."""
    return _scaled(call, integer_mat_mul_of(call, (0, 1), (2, 3)), -1)


def _dequantized_conv_transpose(call: Call) -> Tensor:
    """ConvTranspose of x and w less their zero points, in float32, * factor + bias, with the attributes of that."""
    zeros = zero_point(call, 2), zero_point(call, 3)
    return _of_sums(call, integer_conv_transpose_of(call, zeros, lambda total: _converted(call, total)), 1)


def _scaled(call: Call, total: Tensor, axis: int) -> Tensor:
    return _of_sums(call, _converted(call, total), axis)


def _converted(call: Call, total: Tensor) -> Tensor:
    """The sums in float32, which may be rounded as sums of float32 are."""
    converted = compute(f"{call.name}.sums", total.shape, (total,), lambda *i: total[i].cast(F32))
    return replace(converted, approximate=True)


def _of_sums(call: Call, sums: Tensor, axis: int) -> Tensor:
    """The sums in float32, scaled and shifted along `axis`."""
    factor = _of_columns(call, 4, sums, axis)
    bias = None if call.optional(5) is None else _of_columns(call, 5, sums, axis)

    def along(t: Tensor, i: tuple[Expr, ...]) -> Expr:
        return t[i[axis]] if t.rank else t.read(())

    def body(*i: Expr) -> Expr:
        value = sums[i] * along(factor, i)
        return value if bias is None else value + along(bias, i)

    return compute(f"{call.name}.scaled", sums.shape, (sums, factor, bias), body)


def _of_columns(call: Call, index: int, sums: Tensor, axis: int) -> Tensor:
    """Input `index`: a scalar, or one element for each place of the sums along the axis."""
    call.check_dtypes((index,), F32)
    return call.input(index, () if call.input(index).rank == 0 else (sums.shape[axis],) if sums.rank else ())


def _centred_quantize(call: Call) -> Tensor:
    """x rounded, halves to even, to an int16 between the attributes low and high; of a NaN some number."""
    call.check_dtypes((0,), F32)
    x = call.input(0)
    low, high = (Const(float(call.attribute(name, 0)), F32) for name in ("low", "high"))

    def body(*i: Expr) -> Expr:
        return minimum(maximum(low, unary("round", x.read(i))), high).cast(I16)

    return compute(f"{call.name}.centred", x.shape, (x,), body)


OPERATORS = {
    "CentredQuantize": _centred_quantize,
    "DequantizedConv": _dequantized_conv,
    "DequantizedConvTranspose": _dequantized_conv_transpose,
    "DequantizedMatMul": _dequantized_mat_mul,
}
