"""Operations on each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..activations import activated, gelu
from ..call import Call, Handler
from ..types import NAMES, onnx_type, real_type

_LEAST = float(np.finfo(np.float32).tiny)
"""Epsilons below it are no normal number, and change nothing but the result of zero."""


def _unary(op: str) -> Handler:
    def convert(call: Call) -> str:
        return call.node(op, [call.read("x")])

    return convert


def _shifted(default: float) -> Any:
    """`x + epsilon`."""

    def read(call: Call) -> str:
        epsilon = call.real("epsilon", default)
        x = call.read("x")
        return x if epsilon < _LEAST else call.node("Add", [x, call.number(epsilon)])

    return read


def _log(call: Call) -> str:
    return call.node("Log", [_shifted(1e-45)(call)])


def _inverse(call: Call) -> str:
    return call.node("Reciprocal", [_shifted(1e-4)(call)])


def _rsqrt(call: Call) -> str:
    return call.node("Reciprocal", [call.node("Sqrt", [_shifted(1e-12)(call)])])


def _square(call: Call) -> str:
    x = call.read("x")
    return call.node("Mul", [x, x])


def _exp2(call: Call) -> str:
    return call.as_result(call.node("Exp", [call.node("Mul", [call.read("x", "float32"), call.number(np.log(2))])]))


def _clip(call: Call) -> str:
    return call.node("Clip", [call.read("x"), call.number(call.real("alpha")), call.number(call.real("beta"))])


def _threshold(call: Call) -> str:
    x = call.value("x")
    least = call.number(call.real("alpha"), real_type(x.dtype))
    return call.node("Max", [call.add(x), least])


def _cast(call: Call) -> str:
    dtype = NAMES.get(call.text("dtype", "fp32"), "")
    return call.node("Cast", [call.read("x")], to=onnx_type(real_type(dtype)))


def _binary(op: str) -> Handler:
    """Operands are of the type of the result."""

    def convert(call: Call) -> str:
        dtype = real_type(call.result().dtype)
        return call.node(op, [call.read("x", dtype), call.read("y", dtype)])

    return convert


def _compared(op: str, negated: bool = False) -> Handler:
    def convert(call: Call) -> str:
        result = call.node(op, [call.read("x"), call.read("y", real_type(call.value("x").dtype))])
        return call.node("Not", [result]) if negated else result

    return convert


def _floor_div(call: Call) -> str:
    dtype = real_type(call.result().dtype)
    a, b = call.read("x", dtype), call.read("y", dtype)
    if dtype == "float32":
        return call.node("Floor", [call.node("Div", [a, b])])
    multiple = call.node("Sub", [a, call.node("Mod", [a, b])])
    return call.node("Div", [multiple, b])


def _mod(call: Call) -> str:
    """The result has the sign of the divisor."""
    dtype = real_type(call.result().dtype)
    a, b = call.read("x", dtype), call.read("y", dtype)
    if dtype != "float32":
        return call.node("Mod", [a, b])
    floors = call.node("Floor", [call.node("Div", [a, b])])
    return call.node("Sub", [a, call.node("Mul", [floors, b])])


def _activation(call: Call) -> str:
    alpha, beta = (call.real(name, 0.0) for name in ("alpha", "beta"))
    result = activated(call, call.kind, call.read("x"), alpha, beta)
    assert result is not None
    return result


def _gelu(call: Call) -> str:
    mode = call.text("mode", "EXACT")
    result = gelu(call, call.read("x"), mode)
    if result is None:
        raise call.unsupported(f"the mode {mode}")
    return result


def _by_channel(call: Call, name: str) -> str:
    """A vector along dimension 1 of `x`."""
    return call.node("Reshape", [call.read(name), call.integers([-1] + [1] * (call.rank() - 2))])


def _prelu(call: Call) -> str:
    return call.node("PRelu", [call.read("x"), _by_channel(call, "alpha")])


def _softplus_parametric(call: Call) -> str:
    scaled = call.node("Mul", [call.read("x"), _by_channel(call, "beta")])
    return call.node("Mul", [call.node("Softplus", [scaled]), _by_channel(call, "alpha")])


def _softmax(call: Call) -> str:
    return call.node("Softmax", [call.read("x")], axis=call.integer("axis", -1))


def _select(call: Call) -> str:
    dtype = real_type(call.result().dtype)
    return call.node("Where", [call.read("cond", "bool"), call.read("a", dtype), call.read("b", dtype)])


def _quantize(call: Call) -> str:
    dtype = call.text("output_dtype", "int8")
    along = {"axis": call.integer("axis")} if call.has("axis") else {}
    return call.node("QuantizeLinear", [call.read("input"), *_quanta(call, dtype)], **along)


def _dequantize(call: Call) -> str:
    along = {"axis": call.integer("axis")} if call.has("axis") else {}
    value = call.value("input")
    return call.node("DequantizeLinear", [call.add(value), *_quanta(call, real_type(value.dtype))], **along)


def _quanta(call: Call, dtype: str) -> tuple[str, str]:
    """The scale and the zero point, of the type of the quanta."""
    scale = np.asarray(call.constant("scale"), np.float32)
    zero = np.asarray(call.constant("zero_point", np.zeros(scale.shape)), dtype)
    return call.builder.constant(scale, "scale"), call.builder.constant(zero, "zero_point")


_ACTIVATIONS = (
    "clamped_relu",
    "elu",
    "leaky_relu",
    "linear_activation",
    "relu",
    "relu6",
    "scaled_tanh",
    "sigmoid",
    "sigmoid_hard",
    "silu",
    "softplus",
    "softsign",
    "tanh",
    "thresholded_relu",
)

OPERATORS: dict[str, Handler] = {
    **dict.fromkeys(_ACTIVATIONS, _activation),
    "abs": _unary("Abs"),
    "acos": _unary("Acos"),
    "asin": _unary("Asin"),
    "atan": _unary("Atan"),
    "atanh": _unary("Atanh"),
    "ceil": _unary("Ceil"),
    "cos": _unary("Cos"),
    "cosh": _unary("Cosh"),
    "erf": _unary("Erf"),
    "exp": _unary("Exp"),
    "floor": _unary("Floor"),
    "identity": _unary("Identity"),
    "logical_not": _unary("Not"),
    "round": _unary("Round"),
    "sign": _unary("Sign"),
    "sin": _unary("Sin"),
    "sinh": _unary("Sinh"),
    "sqrt": _unary("Sqrt"),
    "tan": _unary("Tan"),
    "add": _binary("Add"),
    "maximum": _binary("Max"),
    "minimum": _binary("Min"),
    "mul": _binary("Mul"),
    "pow": _binary("Pow"),
    "real_div": _binary("Div"),
    "sub": _binary("Sub"),
    "logical_and": _binary("And"),
    "logical_or": _binary("Or"),
    "logical_xor": _binary("Xor"),
    "equal": _compared("Equal"),
    "greater": _compared("Greater"),
    "greater_equal": _compared("GreaterOrEqual"),
    "less": _compared("Less"),
    "less_equal": _compared("LessOrEqual"),
    "not_equal": _compared("Equal", negated=True),
    "cast": _cast,
    "clip": _clip,
    "dequantize": _dequantize,
    "exp2": _exp2,
    "floor_div": _floor_div,
    "gelu": _gelu,
    "inverse": _inverse,
    "log": _log,
    "mod": _mod,
    "prelu": _prelu,
    "quantize": _quantize,
    "rsqrt": _rsqrt,
    "select": _select,
    "softmax": _softmax,
    "softplus_parametric": _softplus_parametric,
    "square": _square,
    "threshold": _threshold,
}
