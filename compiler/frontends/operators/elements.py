"""Operators on each element that ONNX lacks."""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import onnx

from ..converted_call import ConvertedCall


def atan2(call: ConvertedCall, y: str, x: str, number: Callable[[float], str]) -> str:
    """The angle of (x, y), by its quadrant; `number` makes constants of their type."""
    zero, half, whole = map(number, (0, pi / 2, pi))
    flat = call.node("Equal", [x, zero])
    angle = call.node("Atan", [call.node("Div", [y, call.node("Where", [flat, number(1), x])])])
    below = call.node("Less", [y, zero])
    turn = call.node("Where", [below, call.node("Neg", [whole]), whole])
    turned = call.node("Where", [call.node("Less", [x, zero]), call.node("Add", [angle, turn]), angle])
    upright = call.node("Where", [below, call.node("Neg", [half]), half])
    upright = call.node("Where", [call.node("Equal", [y, zero]), zero, upright])
    return call.node("Where", [flat, upright, turned])


def shift_right(call: ConvertedCall, x: str, count: str, dtype: int, unsigned: bool) -> str:
    """Shifts integers of ONNX's type `dtype`. Of signed ones it is a division by a power of two, rounded down: the sign
    fills what becomes free."""
    if unsigned:
        return call.node("BitShift", [x, count], direction="RIGHT")
    wide, number = onnx.TensorProto.INT64, onnx.TensorProto.UINT64
    x = call.node("Cast", [x], to=wide)
    one = call.node("Cast", [call.integers(1)], to=number)
    power = call.node("BitShift", [one, call.node("Cast", [count], to=number)], direction="LEFT")
    power = call.node("Cast", [power], to=wide)
    whole = call.node("Sub", [x, call.node("Mod", [x, power])])
    return call.node("Cast", [call.node("Div", [whole, power])], to=dtype)
