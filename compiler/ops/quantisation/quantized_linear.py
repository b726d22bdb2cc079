"""Products of com.microsoft with quantised operands: sums of integers, whose results are floats or quantised again; and
operators of ai.onnx that com.microsoft has, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...dtypes import F16, F32, I8, I16, I32, U8, U16
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..broadcast import broadcast_element, spread_input
from ..call import Call
from ..movement.channels_last import channels_by_flag
from ..movement.rearranging import transposed
from ..products.linear import integer_mat_mul_of
from .quantized_products import dequantized, parameter, qlinear_conv, requantized
from .quantizing import dequantize, dynamically_quantized, quantize


def mat_mul_integer_to_float(call: Call) -> Tensor:
    """MatMulInteger of (a, b) times the scales of a and b, plus a bias along the last axis. Scale and zero point of a
    are scalars, those of b may be one per column."""
    call.check_dtypes((0, 4), U8, I8)
    call.check_dtypes((1, 5), U8, I8)
    call.check_dtypes((2, 3, 6), F32, F16)
    total = integer_mat_mul_of(call, (0, 1), (4, 5))
    call.input(3)
    b_scale = spread_input(call, 3, total.shape)
    assert b_scale is not None
    return dequantized(call, total, (parameter(call, 2), b_scale), call.optional(6, total.shape[-1:]))


def _dynamic_quantize_mat_mul(call: Call) -> Tensor:
    """DynamicQuantizeLinear of a, then MatMulIntegerToFloat with b, whose scale, zero point and bias follow."""
    call.check_dtypes((0, 2, 4), F32)
    a, a_scale, a_zero = dynamically_quantized(f"{call.name}.a", call.input(0))
    inputs = (a, call.input(1), a_scale, call.input(2), a_zero, call.optional(3), call.optional(4))
    return mat_mul_integer_to_float(replace(call, inputs=inputs))


def _q_gemm(call: Call) -> Tensor:
    """alpha * A' B' of operands less their zero points, plus C in int32, of the product's scale. Inputs are a and b,
    each with scale and zero point (those of b scalars, or one per column), c, and scale and zero point of the result,
    which is float32 without them."""
    call.check_dtypes((0, 2), U8, I8)
    call.check_dtypes((3, 5), U8, I8)
    call.check_dtypes((1, 4, 7), F32)
    call.check_dtypes((6,), I32)
    call.check_dtypes((8,), U8, I8)
    a, b = _operand(call, 0, "A"), _operand(call, 3, "B")
    product = integer_mat_mul_of(replace(call, inputs=(a, b, call.optional(2), call.optional(5))), (0, 1), (2, 3))
    c = spread_input(call, 6, product.shape)
    total = product
    if c is not None:
        total = compute(
            f"{call.name}.sum", product.shape, (product, c), lambda *i: product[i] + broadcast_element(c, i)
        )
    alpha, a_scale = call.attribute("alpha", 1.0), parameter(call, 1)
    scale = a_scale
    if alpha != 1:
        scale = fold(compute(f"{call.name}.scale", (), (a_scale,), lambda: a_scale[()] * alpha))
    b_scale = parameter(call, 4, product.shape[1])
    if not call.has(7):
        return dequantized(call, total, (scale, b_scale))
    return requantized(call, total, (scale, b_scale, parameter(call, 7)), parameter(call, 8))


def _operand(call: Call, index: int, side: str) -> Tensor:
    """The matrix that is input `index`, transposed where the attribute says so."""
    t = call.input(index, (None, None))
    return fold(transposed(f"{call.name}.{side.lower()}", t, (1, 0))) if call.flag(f"trans{side}", 0) else t


def _checked_qlinear_conv(call: Call) -> Tensor:
    call.check_dtypes((0, 2), U8, I8)
    call.check_dtypes((3, 5), U8, I8)
    call.check_dtypes((1, 4, 6), F32)
    call.check_dtypes((7,), U8, I8)
    call.check_dtypes((8,), I32)
    return qlinear_conv(call)


def _checked_quantize(call: Call) -> Tensor:
    call.input(1)
    call.check_dtypes((0, 1), F32, F16)
    call.check_dtypes((2,), U8, I8, U16, I16)
    return quantize(call)


def _checked_dequantize(call: Call) -> Tensor:
    call.check_dtypes((0, 2), U8, I8, U16, I16, I32)
    call.check_dtypes((1,), F32, F16)
    return dequantize(call)


OPERATORS: dict[str, Callable[[Call], Tensor]] = {
    "DequantizeLinear": _checked_dequantize,
    "DynamicQuantizeMatMul": _dynamic_quantize_mat_mul,
    "MatMulIntegerToFloat": mat_mul_integer_to_float,
    "QGemm": _q_gemm,
    "QLinearConv": channels_by_flag(_checked_qlinear_conv),
    "QuantizeLinear": _checked_quantize,
}
