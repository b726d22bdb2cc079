"""Operators on each element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...operators.elements import atan2, shift_right
from ..call import Call, Handler
from ..types import onnx_type


def _unary(op: str, **attributes: Any) -> Handler:
    def convert(call: Call) -> None:
        call.write(call.mapped(op, [call.read(0)], **attributes))

    return convert


def _clip(least: float, most: float) -> Handler:
    def convert(call: Call) -> None:
        call.write(call.mapped("Clip", [call.read(0)], (call.number(least), call.number(most))))

    return convert


def broadcast(call: Call, op: str, values: Sequence[str], shapes: Sequence[tuple[int, ...]], stem: str = "") -> str:
    """An operator on operands that are broadcast."""
    count = len(call.operator.inputs)
    constants = [i < count and call.tensor(i).data is not None for i in range(len(values))]
    return call.images.broadcast(op, values, shapes, constants, stem or call.stem)


def _binary(op: str, activation: bool = True) -> Handler:
    def convert(call: Call) -> None:
        result = broadcast(call, op, [call.read(0), call.read(1)], [call.shape(0), call.shape(1)])
        fused = activation and call.operator.options is not None
        call.write(call.activated(result, call.options.FusedActivationFunction()) if fused else result)

    return convert


def _compare(op: str, negated: bool = False) -> Handler:
    def convert(call: Call) -> None:
        result = broadcast(call, op, [call.read(0), call.read(1)], [call.shape(0), call.shape(1)])
        call.store(call.mapped("Not", [result]) if negated else result)

    return convert


def _rsqrt(call: Call) -> None:
    call.write(call.mapped("Reciprocal", [call.mapped("Sqrt", [call.read(0)])]))


def _square(call: Call) -> None:
    x = call.read(0)
    call.write(call.mapped("Mul", [x, x]))


def _squared_difference(call: Call) -> None:
    d = broadcast(call, "Sub", [call.read(0), call.read(1)], [call.shape(0), call.shape(1)])
    call.write(call.mapped("Mul", [d, d]))


def _floor_div(call: Call) -> None:
    """Rounds towards minus infinity, integers too."""
    a, b = call.read(0), call.read(1)
    shapes = [call.shape(0), call.shape(1)]
    if call.result().dtype.startswith("float"):
        call.write(call.mapped("Floor", [broadcast(call, "Div", [a, b], shapes)]))
        return
    whole = call.node("Sub", [a, broadcast(call, "Mod", [a, b], shapes)])  # a multiple of b
    call.store(call.node("Div", [whole, b]))


def _floor_mod(call: Call) -> None:
    """The result has the sign of the divisor."""
    a, b = call.read(0), call.read(1)
    shapes = [call.shape(0), call.shape(1)]
    if not call.result().dtype.startswith("float"):
        call.store(broadcast(call, "Mod", [a, b], shapes))
        return
    floors = call.node("Floor", [call.node("Div", [a, b])])
    call.write(call.node("Sub", [a, call.node("Mul", [floors, b])]))


def _softmax(call: Call) -> None:
    x, beta = call.read(0), call.options.Beta()
    scaled = x if beta == 1 else call.mapped("Mul", [x], (call.number(beta),))
    call.write(call.mapped("Softmax", [scaled], axis=len(call.shape(0)) - 1))


def _log_softmax(call: Call) -> None:
    call.write(call.mapped("LogSoftmax", [call.read(0)], axis=len(call.shape(0)) - 1))


def _gelu(call: Call) -> None:
    form = "tanh" if call.options.Approximate() else "none"
    call.write(call.mapped("Gelu", [call.read(0)], approximate=form))


def _leaky_relu(call: Call) -> None:
    call.write(call.mapped("LeakyRelu", [call.read(0)], alpha=call.options.Alpha()))


def _prelu(call: Call) -> None:
    call.write(broadcast(call, "PRelu", [call.read(0), call.read(1)], [call.shape(0), call.shape(1)]))


def _atan2(call: Call) -> None:
    call.write(atan2(call, call.read(0), call.read(1), lambda n: call.number(n, call.result().dtype)))


def _right_shift(call: Call) -> None:
    call.store(shift_right(call, call.raw(0), call.raw(1), onnx_type(call.result().dtype)))


def _add_n(call: Call) -> None:
    call.write(call.node("Sum", [call.read(i) for i in call.operands]))


def _cast(call: Call) -> None:
    call.store(call.cast(call.raw(0), call.result().dtype))


def _quantize(call: Call) -> None:
    """From real numbers, or from other quanta."""
    call.write(call.read(0))


def _dequantize(call: Call) -> None:
    call.store(call.read(0))


def _densify(call: Call) -> None:
    """Sparse constants are dense as soon as they are read."""
    call.store(call.raw(0))


def _fake_quant(call: Call) -> None:
    """Rounds to the quanta of a range that is moved so that one of them is zero."""
    o = call.options
    low, high = (1 if o.NarrowRange() else 0), 2 ** o.NumBits() - 1
    scale = (o.Max() - o.Min()) / (high - low)
    if scale <= 0:
        raise call.unsupported(f"the range from {o.Min():g} to {o.Max():g}")
    zero = min(max(round(low - o.Min() / scale), low), high)
    steps = call.mapped("Mul", [call.read(0)], (call.number(1 / scale),))
    moved = call.mapped("Floor", [call.mapped("Add", [steps], (call.number(zero + 0.5),))])
    held = call.mapped("Clip", [moved], (call.number(low), call.number(high)))
    centred = call.mapped("Sub", [held], (call.number(zero),))
    call.write(call.mapped("Mul", [centred], (call.number(scale),)))


def _select(call: Call) -> None:
    """The condition of the older form may be a vector along the first dimension."""
    condition, rank = call.raw(0), len(call.result().shape)
    if call.operator.kind == "SELECT" and len(call.shape(0)) == 1 < rank:
        condition = call.node("Reshape", [condition, call.integers([-1] + [1] * (rank - 1))])
    call.write(call.node("Where", [condition, call.read(1), call.read(2)]))


OPERATORS: dict[str, Handler] = {
    "ABS": _unary("Abs"),
    "CEIL": _unary("Ceil"),
    "COS": _unary("Cos"),
    "ELU": _unary("Elu"),
    "EXP": _unary("Exp"),
    "FLOOR": _unary("Floor"),
    "HARD_SWISH": _unary("HardSwish"),
    "LOG": _unary("Log"),
    "LOGICAL_NOT": _unary("Not"),
    "LOGISTIC": _unary("Sigmoid"),
    "NEG": _unary("Neg"),
    "RELU": _unary("Relu"),
    "ROUND": _unary("Round"),
    "SIGN": _unary("Sign"),
    "SIN": _unary("Sin"),
    "SQRT": _unary("Sqrt"),
    "TANH": _unary("Tanh"),
    "RELU6": _clip(0, 6),
    "RELU_N1_TO_1": _clip(-1, 1),
    "RELU_0_TO_1": _clip(0, 1),
    "ADD": _binary("Add"),
    "SUB": _binary("Sub"),
    "MUL": _binary("Mul"),
    "DIV": _binary("Div"),
    "POW": _binary("Pow", activation=False),
    "MAXIMUM": _binary("Max", activation=False),
    "MINIMUM": _binary("Min", activation=False),
    "LOGICAL_AND": _compare("And"),
    "LOGICAL_OR": _compare("Or"),
    "EQUAL": _compare("Equal"),
    "NOT_EQUAL": _compare("Equal", negated=True),
    "GREATER": _compare("Greater"),
    "GREATER_EQUAL": _compare("GreaterOrEqual"),
    "LESS": _compare("Less"),
    "LESS_EQUAL": _compare("LessOrEqual"),
    "RSQRT": _rsqrt,
    "SQUARE": _square,
    "SQUARED_DIFFERENCE": _squared_difference,
    "FLOOR_DIV": _floor_div,
    "FLOOR_MOD": _floor_mod,
    "SOFTMAX": _softmax,
    "LOG_SOFTMAX": _log_softmax,
    "GELU": _gelu,
    "LEAKY_RELU": _leaky_relu,
    "PRELU": _prelu,
    "ATAN2": _atan2,
    "BITWISE_XOR": _compare("BitwiseXor"),
    "RIGHT_SHIFT": _right_shift,
    "ADD_N": _add_n,
    "CAST": _cast,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
    "DENSIFY": _densify,
    "FAKE_QUANT": _fake_quant,
    "SELECT": _select,
    "SELECT_V2": _select,
}
