"""Operators of com.microsoft on quantised tensors: each is that of ai.onnx between dequantised inputs and a quantised
result. onnxruntime looks some of them up in tables, which differ by one quantum at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...dtypes import F32, I8, U8
from ...tensor import Tensor, compute
from ..broadcast import binary_operator, scalar_element
from ..call import Call
from ..elementwise.activation import OPERATORS as ACTIVATIONS
from ..elementwise.comparison import where
from ..movement.joining import concat
from ..reductions.pooling import average_pool, global_average_pool
from ..reductions.reduction import OPERATORS as REDUCTIONS
from ..reductions.softmax import softmax
from .dequantized import dequantized_by, scalar
from .quantizing import quantum

Operator = Callable[[Call], Tensor]


def _quantized(operator: Operator, operands: int) -> Operator:
    """`operator` on inputs (x, scale, zero point) for each operand, and then the result's scale and zero point."""

    def of_quanta(call: Call) -> Tensor:
        firsts = [3 * i for i in range(operands)]
        return _requantize(call, operator, firsts, 3 * operands)

    return of_quanta


def _requantize(call: Call, operator: Operator, firsts: list[int], result: int) -> Tensor:
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


def _softmax(call: Call) -> Tensor:
    """By the rule of the opset of ai.onnx that an attribute names."""
    return softmax(replace(call, opset=call.attribute("opset", 13)))


def channels_first(operator: Operator) -> Operator:
    """`operator`, which refuses the attribute channels_last."""

    def checked(call: Call) -> Tensor:
        if call.flag("channels_last", 0):
            raise call.unsupported(
                "attribute channels_last=1", "quantize the model for a processor, with channels before spatial axes"
            )
        return operator(call)

    return checked


def _concat(call: Call) -> Tensor:
    """The result's scale and zero point come first, then (x, scale, zero point) of each operand."""
    call.input(2)
    return _requantize(call, concat, list(range(2, len(call.inputs), 3)), 0)


def _where(call: Call) -> Tensor:
    """Elements of x or y, each (tensor, scale, zero point), by the condition, which comes first."""
    condition = call.input(0)
    return _requantize(call, lambda of: where(replace(of, inputs=(condition, *of.inputs))), [1, 4], 7)


OPERATORS: dict[str, Operator] = {
    "QLinearAdd": _quantized(binary_operator(lambda a, b: a + b), 2),
    "QLinearAveragePool": _quantized(channels_first(average_pool), 1),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _quantized(channels_first(global_average_pool), 1),
    "QLinearLeakyRelu": _quantized(ACTIVATIONS["LeakyRelu"], 1),
    "QLinearMul": _quantized(binary_operator(lambda a, b: a * b), 2),
    "QLinearReduceMean": _quantized(REDUCTIONS["ReduceMean"], 1),
    "QLinearSigmoid": _quantized(ACTIVATIONS["Sigmoid"], 1),
    "QLinearSoftmax": _quantized(_softmax, 1),
    "QLinearWhere": _where,
}
