"""Operators on each element, with broadcasting or without, and activation functions.

Source: the operators of MXNet 1.9 by these names (api/python/symbol).
"""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ...ranked_call import Value
from ..call import Call, Handler

_FLOAT = TensorProto.FLOAT
_CASTS = {
    **dict.fromkeys(("float16", "float32", "float64", "bfloat16"), TensorProto.FLOAT),
    "int8": TensorProto.INT8,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
_UNARY = {
    "abs": "Abs",
    "arccos": "Acos",
    "arcsin": "Asin",
    "arctan": "Atan",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "rint": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
_BINARY = {"add": "Add", "div": "Div", "maximum": "Max", "minimum": "Min", "mul": "Mul", "power": "Pow", "sub": "Sub"}
_COMPARISONS = {
    "equal": "Equal",
    "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "lesser": "Less",
    "lesser_equal": "LessOrEqual",
}
_SAME_NAMES = {
    "add": ("elemwise_add", "_add", "_plus", "_Plus", "broadcast_add", "broadcast_plus"),
    "div": ("elemwise_div", "_div", "_Div", "broadcast_div"),
    "maximum": ("_maximum", "_Maximum", "broadcast_maximum"),
    "minimum": ("_minimum", "_Minimum", "broadcast_minimum"),
    "mul": ("elemwise_mul", "_mul", "_Mul", "broadcast_mul"),
    "power": ("_power", "_Power", "broadcast_power"),
    "sub": ("elemwise_sub", "_sub", "_minus", "_Minus", "broadcast_sub", "broadcast_minus"),
}
_SCALARS = {
    "_div_scalar": ("Div", False),
    "_maximum_scalar": ("Max", False),
    "_minimum_scalar": ("Min", False),
    "_minus_scalar": ("Sub", False),
    "_mul_scalar": ("Mul", False),
    "_plus_scalar": ("Add", False),
    "_power_scalar": ("Pow", False),
    "_rdiv_scalar": ("Div", True),
    "_rminus_scalar": ("Sub", True),
    "_rpower_scalar": ("Pow", True),
}
"""The ONNX operator, and whether the scalar is its first operand."""

_IDENTITIES = (
    *("BlockGrad", "Dropout", "LinearRegressionOutput", "MAERegressionOutput", "MakeLoss", "SVMOutput"),
    *("_copy", "identity", "make_loss", "stop_gradient"),
)


def _unary(op: str) -> Handler:
    return lambda call: call.apply(op, call.x)


def _binary(op: str) -> Handler:
    return lambda call: call.apply(op, call.x, call.value(1))


def _scalar(op: str, first: bool) -> Handler:
    def apply(call: Call) -> Value:
        scalar = call.number_of("scalar", 0)
        return call.apply(op, *((scalar, call.x) if first else (call.x, scalar)))

    return apply


def _comparison(op: str, *, scalar: bool = False) -> Handler:
    """1 where it holds, else 0."""

    def apply(call: Call) -> Value:
        other = call.number_of("scalar", 0) if scalar else call.value(1)
        return call.apply("Cast", call.apply(op, call.x, other), to=_FLOAT)

    return apply


def _not_equal(call: Call) -> Value:
    return call.apply("Sub", 1.0, call.apply("Cast", call.apply("Equal", call.x, call.value(1)), to=_FLOAT))


def _activation(call: Call) -> Value:
    kind = call.attribute("act_type")
    op = {"relu": "Relu", "sigmoid": "Sigmoid", "softrelu": "Softplus", "softsign": "Softsign", "tanh": "Tanh"}
    if kind not in op:
        raise call.unsupported(f"the function {kind!r}")
    return call.apply(op[kind], call.x)


def _leaky(call: Call) -> Value:
    """Functions with a slope below zero."""
    kind, slope, x = call.attribute("act_type", "leaky"), call.number_of("slope", 0.25), call.x
    match kind:
        case "leaky":
            return call.apply("LeakyRelu", x, alpha=slope)
        case "elu":
            return call.apply("Elu", x, alpha=slope)
        case "selu":
            return call.apply("Selu", x)
        case "gelu":
            return call.apply("Gelu", x)
        case "rrelu":
            mean = (call.number_of("lower_bound", 0.125) + call.number_of("upper_bound", 0.334)) / 2
            return call.apply("LeakyRelu", x, alpha=mean)
        case "prelu":
            slopes = call.weight(1, "_gamma").reshape(-1)
            behind = (1,) * (x.rank - 2) if slopes.size > 1 else ()
            return call.apply("PRelu", x, call.constant(slopes.reshape(-1, *behind), "slopes"))
    raise call.unsupported(f"the function {kind!r}")


def _clip(call: Call) -> Value:
    return call.apply("Clip", call.x, call.number_of("a_min", -math.inf), call.number_of("a_max", math.inf))


def _hard_sigmoid(call: Call) -> Value:
    return call.apply("HardSigmoid", call.x, alpha=call.number_of("alpha", 0.2), beta=call.number_of("beta", 0.5))


def _cast(call: Call) -> Value:
    """Floating-point numbers are float32."""
    dtype = call.attribute("dtype")
    if dtype not in _CASTS:
        raise call.unsupported(f"the type {dtype!r}")
    return call.apply("Cast", call.x, to=_CASTS[dtype])


def _where(call: Call) -> Value:
    condition = call.apply("Cast", call.x, to=TensorProto.BOOL)
    return call.apply("Where", condition, call.value(1), call.value(2))


def _filled(value: float) -> Handler:
    def apply(call: Call) -> Value:
        return call.apply("Expand", Value(call.number(value), 0), call.node("Shape", [call.x.name]), rank=call.x.rank)

    return apply


def _constant(value: float) -> Handler:
    def apply(call: Call) -> Value:
        shape = call.numbers("shape", None)
        if 0 in shape:
            raise call.unsupported(f"the shape {tuple(shape)}, of which a part is free")
        return Value(call.constant(np.full(shape, value, np.float32)), len(shape))

    return apply


def _add_n(call: Call) -> Value:
    return call.apply("Sum", call.x, *call.values[1:])


def _chain(*ops: str) -> Handler:
    def apply(call: Call) -> Value:
        x = call.x
        for op in ops:
            x = call.apply(op, x)
        return x

    return apply


OPERATORS: dict[str, Handler] = {
    **{name: _unary(op) for name, op in _UNARY.items()},
    **{name: _binary(_BINARY[kind]) for kind, names in _SAME_NAMES.items() for name in names},
    **{name: _scalar(op, first) for name, (op, first) in _SCALARS.items()},
    **{f"broadcast_{name}": _comparison(op) for name, op in _COMPARISONS.items()},
    **{f"_{name}": _comparison(op) for name, op in _COMPARISONS.items()},
    **{f"_{name}_scalar": _comparison(op, scalar=True) for name, op in _COMPARISONS.items()},
    **dict.fromkeys(("_not_equal", "broadcast_not_equal"), _not_equal),
    **dict.fromkeys(_IDENTITIES, lambda call: call.x),
    **dict.fromkeys(("Cast", "amp_cast", "cast"), _cast),
    **dict.fromkeys(("ElementWiseSum", "add_n", "_sum"), _add_n),
    **dict.fromkeys(("_ones", "ones"), _constant(1.0)),
    **dict.fromkeys(("_zeros", "zeros"), _constant(0.0)),
    "Activation": _activation,
    "LeakyReLU": _leaky,
    "LogisticRegressionOutput": _unary("Sigmoid"),
    "clip": _clip,
    "expm1": lambda call: call.apply("Sub", call.apply("Exp", call.x), 1.0),
    "hard_sigmoid": _hard_sigmoid,
    "log1p": lambda call: call.apply("Log", call.apply("Add", call.x, 1.0)),
    "log10": lambda call: call.scaled(call.apply("Log", call.x), 1 / math.log(10), 0),
    "log2": lambda call: call.scaled(call.apply("Log", call.x), 1 / math.log(2), 0),
    "ones_like": _filled(1.0),
    "rsqrt": _chain("Sqrt", "Reciprocal"),
    "square": lambda call: call.apply("Mul", call.x, call.x),
    "where": _where,
    "zeros_like": _filled(0.0),
}
