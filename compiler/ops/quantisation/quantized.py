"""Operators of com.microsoft on quantised tensors: each is that of ai.onnx between dequantised inputs and a quantised
result. onnxruntime looks some of them up in tables, which differ by one quantum at most.

QLinearAdd, QLinearMul and QLinearAveragePool round after the zero point of the result is added, others before, as in
onnxruntime: halves are common where scales are equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ...dtypes import F32, I8, U8, DType
from ...ir.construct import minimum, unary
from ...ir.nodes import Const, Expr
from ...tensor import Tensor, compute
from ...tensor.fold_tensor import fold
from ..broadcast import pointwise, scalar_element
from ..call import Call
from ..elementwise.activation import OPERATORS as ACTIVATIONS
from ..elementwise.comparison import where
from ..movement.channels_last import channels_by_flag, channels_last
from ..movement.joining import concat
from ..reductions.pooling import average_pool, global_average_pool, max_pool
from ..reductions.reduction import OPERATORS as REDUCTIONS
from ..reductions.softmax import softmax
from .dequantized import dequantized_by, scalar
from .quantizing import quantum

Operator = Callable[[Call], Tensor]


def _quantized(operator: Operator) -> Operator:
    """`operator` on inputs (x, scale, zero point), after which come the result's scale and zero point."""
    return lambda call: _requantize(call, operator, [0], 3)


def _requantize(
    call: Call, operator: Operator, firsts: list[int], result: int, quantum: Callable[..., Expr] = quantum
) -> Tensor:
    """`operator` on the operands that begin at the inputs `firsts`, with scale and zero point at `result`."""
    real = operator(replace(call, inputs=tuple(_dequantized(call, first) for first in firsts)))
    scale, zero = scalar(call, result), scalar_element(call, result + 1, "zero point of the result")
    dtype = call.input(firsts[0]).dtype
    call.check_dtypes((result,), F32)
    call.check_dtypes((*firsts, result + 1), U8, I8)
    reads = (real, call.input(result), call.optional(result + 1))
    return compute(f"{call.name}.quantized", real.shape, reads, lambda *i: quantum(real[i] / scale, zero, dtype))


def _dequantized(call: Call, first: int) -> Tensor:
    """(x - zero_point) * scale of the operand that begins at input `first`."""
    call.check_dtypes((first, first + 2), U8, I8)
    call.check_dtypes((first + 1,), F32)
    return dequantized_by(call, first, call.input(first), first + 1, first + 2)


def _rounded(value: Expr, dtype: DType) -> Expr:
    """saturate(round(value)), rounding halves to even."""
    return unary("round", value).cast(dtype)


def _quantum_of_sum(scaled: Expr, zero: Expr | None, dtype: DType) -> Expr:
    return _rounded(scaled if zero is None else scaled + zero.cast(F32), dtype)


def _average_pool(call: Call) -> Tensor:
    return _requantize(call, average_pool, [0], 3, _quantum_of_sum)


def _add(call: Call) -> Tensor:
    """(a - a_zero) * (a_scale / scale) + (b - b_zero) * (b_scale / scale), plus the zero point of the result."""
    _check_two(call)
    a_ratio = _number(call, "a", lambda: scalar(call, 1) / scalar(call, 6))
    b_ratio = _number(call, "b", lambda: scalar(call, 4) / scalar(call, 6))
    zeros = [_number(call, f"zero{i}", partial(_zero, call, i)) for i in (2, 5, 7)]

    def body(a: Expr, b: Expr, a_ratio: Expr, b_ratio: Expr, a_zero: Expr, b_zero: Expr, zero: Expr) -> Expr:
        sum_ = _product(a.cast(F32) - a_zero, a_ratio) + _product(b.cast(F32) - b_zero, b_ratio)
        return _rounded(sum_ + zero, a.dtype)

    return pointwise(call, body, call.input(0), call.input(3), a_ratio, b_ratio, *zeros)


def _multiply(call: Call) -> Tensor:
    """(a - a_zero) * (b - b_zero) * (a_scale * b_scale / scale), plus the zero point of the result."""
    _check_two(call)
    ratio = _number(call, "ratio", lambda: scalar(call, 1) * scalar(call, 4) / scalar(call, 6))
    zeros = [_number(call, f"zero{i}", partial(_zero, call, i)) for i in (2, 5, 7)]

    def body(a: Expr, b: Expr, ratio: Expr, a_zero: Expr, b_zero: Expr, zero: Expr) -> Expr:
        return _rounded(_product((a.cast(F32) - a_zero) * (b.cast(F32) - b_zero), ratio) + zero, a.dtype)

    return pointwise(call, body, call.input(0), call.input(3), ratio, *zeros)


def _product(a: Expr, b: Expr) -> Expr:
    """The product as float32 rounds it: a bound, which is far beyond all quanta, keeps compilers from fusing it with
    the sum that reads it, where a processor can."""
    return minimum(a * b, 2.0**100)


def _check_two(call: Call) -> None:
    """Raises UnsupportedError unless the inputs are two operands, scale and zero point of each, and of the result."""
    call.check_dtypes((0, 3, 2, 5, 7), U8, I8)
    call.check_dtypes((1, 4, 6), F32)


def _number(call: Call, name: str, value: Callable[[], Expr]) -> Tensor:
    """One number, computed from scalar inputs."""
    return fold(compute(f"{call.name}.{name}", (), call.inputs, value))


def _zero(call: Call, index: int) -> Expr:
    """The zero point that is input `index`, as a float; 0 where it is absent."""
    zero = scalar_element(call, index, "zero point")
    return Const(0.0, F32) if zero is None else zero.cast(F32)


def _softmax(call: Call) -> Tensor:
    """By the rule of the opset of ai.onnx that an attribute names."""
    return softmax(replace(call, opset=call.attribute("opset", 13)))


def _max_pool_of_last(call: Call) -> Tensor:
    """MaxPool of images that are (N, spatial, C), whose quanta have one scale."""
    call.check_dtypes((0,), U8, I8)
    return channels_last(_max_pool)(call)


def _max_pool(call: Call) -> Tensor:
    best = max_pool(replace(call, outputs=1))
    assert isinstance(best, Tensor)
    return best


def _concat(call: Call) -> Tensor:
    """The result's scale and zero point come first, then (x, scale, zero point) of each operand."""
    call.input(2)
    return _requantize(call, concat, list(range(2, len(call.inputs), 3)), 0)


def _where(call: Call) -> Tensor:
    """Elements of x or y, each (tensor, scale, zero point), by the condition, which comes first."""
    condition = call.input(0)
    return _requantize(call, lambda of: where(replace(of, inputs=(condition, *of.inputs))), [1, 4], 7)


OPERATORS: dict[str, Operator] = {
    "NhwcMaxPool": _max_pool_of_last,
    "QLinearAdd": _add,
    "QLinearAveragePool": channels_by_flag(_average_pool),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": channels_by_flag(_quantized(global_average_pool)),
    "QLinearLeakyRelu": _quantized(ACTIVATIONS["LeakyRelu"]),
    "QLinearMul": _multiply,
    "QLinearReduceMean": _quantized(REDUCTIONS["ReduceMean"]),
    "QLinearSigmoid": _quantized(ACTIVATIONS["Sigmoid"]),
    "QLinearSoftmax": _quantized(_softmax),
    "QLinearWhere": _where,
}
