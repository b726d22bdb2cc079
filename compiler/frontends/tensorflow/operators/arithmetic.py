"""Functions of two or more operands, which are broadcast."""

from __future__ import annotations

from ...operators.elements import shift_left, shift_right
from ..call import Call, Handler


def binary(op: str) -> Handler:
    def convert(call: Call) -> str:
        return call.broadcast(op, [call.read(0), call.read(1)])

    return convert


def _not_equal(call: Call) -> str:
    return call.mapped("Not", [call.broadcast("Equal", [call.read(0), call.read(1)])])


def _squared_difference(call: Call) -> str:
    d = call.broadcast("Sub", [call.read(0), call.read(1)])
    return call.mapped("Mul", [d, d])


def _floor_div(call: Call) -> str:
    """Rounds towards minus infinity, integers too."""
    a, b = call.read(0), call.read(1)
    if call.is_real(0):
        return call.mapped("Floor", [call.broadcast("Div", [a, b])])
    whole = call.node("Sub", [a, call.broadcast("Mod", [a, b])])  # a multiple of b
    return call.node("Div", [whole, b])


def _floor_mod(call: Call) -> str:
    """The result has the sign of the divisor."""
    a, b = call.read(0), call.read(1)
    if not call.is_real(0):
        return call.broadcast("Mod", [a, b])
    floors = call.mapped("Floor", [call.broadcast("Div", [a, b])])
    return call.broadcast("Sub", [a, call.broadcast("Mul", [floors, b])])


def _truncate_mod(call: Call) -> str:
    return call.node("Mod", [call.read(0), call.read(1)], fmod=1)


def _where_zero(call: Call, tested: str, otherwise: str) -> str:
    """Zeros where `tested` is zero."""
    zero = call.number_like(0, 0)
    return call.broadcast("Where", [call.mapped("Equal", [tested], (zero,)), zero, otherwise])


def _div_no_nan(call: Call) -> str:
    return _where_zero(call, call.read(1), call.broadcast("Div", [call.read(0), call.read(1)]))


def _mul_no_nan(call: Call) -> str:
    return _where_zero(call, call.read(1), call.broadcast("Mul", [call.read(0), call.read(1)]))


def _xdivy(call: Call) -> str:
    return _where_zero(call, call.read(0), call.broadcast("Div", [call.read(0), call.read(1)]))


def _xlogy(call: Call) -> str:
    log = call.mapped("Log", [call.read(1)])
    return _where_zero(call, call.read(0), call.broadcast("Mul", [call.read(0), log]))


def _left_shift(call: Call) -> str:
    return shift_left(call, call.read(0), call.read(1), call.dtype(0))


def _right_shift(call: Call) -> str:
    return shift_right(call, call.read(0), call.read(1), call.dtype(0))


def _approximate_equal(call: Call) -> str:
    apart = call.mapped("Abs", [call.broadcast("Sub", [call.read(0), call.read(1)])])
    return call.mapped("Less", [apart], (call.number_like(call.real("tolerance", 1e-5), 0),))


def _add_n(call: Call) -> str:
    values = call.reads()
    result = values[0]
    for value in values[1:]:
        result = call.broadcast("Add", [result, value])
    return result


def _bias_add(call: Call) -> str:
    """Along the last dimension, or the second one."""
    x, bias = call.read(0), call.read(1)
    if call.channels_first:
        rank = call.rank(0)
        bias = call.node("Reshape", [bias, call.integers([-1] + [1] * (rank - 2))])
        return call.node("Add", [x, bias])
    return call.broadcast("Add", [x, bias])


def _select(call: Call) -> str:
    """The condition may be a vector along the first dimension."""
    condition, shape = call.read(0), call.shape(0)
    if shape is None or len(shape) == 1:
        rank = call.rank(1)
        if call.rank(0) == 1 < rank:
            condition = call.node("Reshape", [condition, call.integers([-1] + [1] * (rank - 1))])
    return call.node("Where", [condition, call.read(1), call.read(2)])


def _select_v2(call: Call) -> str:
    return call.broadcast("Where", call.reads())


def _clip_by_value(call: Call) -> str:
    low = call.broadcast("Max", [call.read(0), call.read(1)])
    return call.broadcast("Min", [low, call.read(2)])


def _prelu(call: Call) -> str:
    return call.broadcast("PRelu", [call.read(0), call.read(1)])


OPERATORS: dict[str, Handler] = {
    "Add": binary("Add"),
    "AddN": _add_n,
    "AddV2": binary("Add"),
    "ApproximateEqual": _approximate_equal,
    "BiasAdd": _bias_add,
    "BiasAddV1": _bias_add,
    "BitwiseAnd": binary("BitwiseAnd"),
    "BitwiseOr": binary("BitwiseOr"),
    "BitwiseXor": binary("BitwiseXor"),
    "ClipByValue": _clip_by_value,
    "Div": binary("Div"),
    "DivNoNan": _div_no_nan,
    "Equal": binary("Equal"),
    "FloorDiv": _floor_div,
    "FloorMod": _floor_mod,
    "Greater": binary("Greater"),
    "GreaterEqual": binary("GreaterOrEqual"),
    "LeftShift": _left_shift,
    "Less": binary("Less"),
    "LessEqual": binary("LessOrEqual"),
    "LogicalAnd": binary("And"),
    "LogicalOr": binary("Or"),
    "Maximum": binary("Max"),
    "Minimum": binary("Min"),
    "Mod": _truncate_mod,
    "Mul": binary("Mul"),
    "MulNoNan": _mul_no_nan,
    "NotEqual": _not_equal,
    "Pow": binary("Pow"),
    "Prelu": _prelu,
    "RealDiv": binary("Div"),
    "RightShift": _right_shift,
    "Select": _select,
    "SelectV2": _select_v2,
    "SquaredDifference": _squared_difference,
    "Sub": binary("Sub"),
    "TruncateDiv": binary("Div"),
    "TruncateMod": _truncate_mod,
    "Xdivy": _xdivy,
    "Xlogy": _xlogy,
}
