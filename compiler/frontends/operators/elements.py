"""Operators on each element that ONNX lacks."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import numpy as np
import onnx

from ..converted_call import ConvertedCall

_UNSIGNED: dict[int, int] = {
    onnx.TensorProto.INT8: onnx.TensorProto.UINT8,
    onnx.TensorProto.INT16: onnx.TensorProto.UINT16,
    onnx.TensorProto.INT32: onnx.TensorProto.UINT32,
    onnx.TensorProto.INT64: onnx.TensorProto.UINT64,
}


def atan2(call: ConvertedCall, y: str, x: str, number: Callable[[float], str]) -> str:
    """The angle of (x, y), by C's rules for signed zeros and infinities; `number` makes constants of their type."""
    zero, one, quarter, half, whole = map(number, (0, 1, pi / 4, pi / 2, pi))
    height, width = call.node("Abs", [y]), call.node("Abs", [x])
    flat = call.node("Equal", [width, zero])
    angle = call.node("Atan", [call.node("Div", [height, call.node("Where", [flat, one, width])])])
    angle = call.node("Where", [call.node("Equal", [height, width]), quarter, angle])
    upright = call.node("Where", [call.node("Greater", [height, zero]), half, height])
    angle = call.node("Where", [flat, upright, angle])

    def negative(value: str) -> str:
        """Whether the sign bit is set: a zero's shows in its reciprocal."""
        is_zero = call.node("Equal", [value, zero])
        signed = call.node("Where", [is_zero, call.node("Div", [one, value]), value])
        return call.node("Less", [signed, zero])

    angle = call.node("Where", [negative(x), call.node("Sub", [whole, angle]), angle])
    return call.node("Where", [negative(y), call.node("Neg", [angle]), angle])


def shift_left(call: ConvertedCall, x: str, count: str, dtype: int) -> str:
    """Shifts integers of ONNX's type `dtype`, signed ones as unsigned ones, by at most all bits but one."""
    return call.node("Cast", [_shifted(call, x, count, dtype, "LEFT")], to=dtype)


def shift_right(call: ConvertedCall, x: str, count: str, dtype: int) -> str:
    """Shifts integers of ONNX's type `dtype` by at most all bits but one. The sign fills what becomes free: the bits of
    a negative number are inverted before and after."""
    if dtype not in _UNSIGNED:
        return _shifted(call, x, count, dtype, "RIGHT")
    ones, zero = _constant(call, -1, dtype), _constant(call, 0, dtype)
    below = call.node("Less", [x, zero])
    x = call.node("Where", [below, call.node("Sub", [ones, x]), x])
    shifted = call.node("Cast", [_shifted(call, x, count, dtype, "RIGHT")], to=dtype)
    return call.node("Where", [below, call.node("Sub", [ones, shifted]), shifted])


def _shifted(call: ConvertedCall, x: str, count: str, dtype: int, direction: str) -> str:
    """Bits of `x` as of unsigned integers, shifted."""
    bits = 8 * onnx.helper.tensor_dtype_to_np_dtype(dtype).itemsize
    count = call.node("Clip", [count, _constant(call, 0, dtype), _constant(call, bits - 1, dtype)])
    wide = _UNSIGNED.get(dtype, dtype)
    operands = [call.node("Cast", [value], to=wide) for value in (x, count)] if wide != dtype else [x, count]
    return call.node("BitShift", operands, direction=direction)


def _constant(call: ConvertedCall, value: int, dtype: int) -> str:
    return call.builder.constant(np.asarray(value, onnx.helper.tensor_dtype_to_np_dtype(dtype)), "number")
