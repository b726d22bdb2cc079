"""Activation functions, by name and as layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..call import Call, Handler, Value
from ..read_config import Layer

Function = Callable[[Call, Value], Value]


def activated(call: Call, x: Value, option: str = "activation") -> Value:
    """The activation function that is an argument of a layer's constructor, on `x`."""
    return apply(call, x, call.layer.config.get(option))


def apply(call: Call, x: Value, given: Any) -> Value:
    """A function by its name or as Keras serialises it, which may be a layer."""
    if isinstance(given, Mapping):
        name, inside = given.get("class_name"), given.get("config")
        if name in LAYERS and isinstance(inside, Mapping):
            layer = Layer(str(name), str(inside.get("name", name)), inside)
            found = LAYERS[layer.kind](call.inner(layer, x))
            assert isinstance(found, Value)
            return found
        given = inside if isinstance(inside, str) else name
    name = function_name(given)
    if name not in FUNCTIONS:
        raise call.unsupported(f"the activation function {name!r}")
    return FUNCTIONS[name](call, x)


def function_name(given: Any) -> str:
    """The name of a function that Keras has serialised."""
    if isinstance(given, Mapping):
        inside = given.get("config")
        given = inside if isinstance(inside, str) else given.get("class_name")
    return str(given or "linear")


def _unary(op: str, **attributes: Any) -> Function:
    return lambda call, x: call.mapped(op, [x], **attributes)


def clip(call: Call, x: Value, least: float | None, most: float | None) -> Value:
    bounds = ("" if least is None else call.number(least), "" if most is None else call.number(most))
    return call.mapped("Clip", [x], bounds)


def _clipped(least: float, most: float) -> Function:
    return lambda call, x: clip(call, x, least, most)


def scaled(call: Call, x: Value, factor: float, shift: float = 0) -> Value:
    product = x if factor == 1 else call.mapped("Mul", [x], (call.number(factor),))
    return product if shift == 0 else call.mapped("Add", [product], (call.number(shift),))


def _silu(call: Call, x: Value) -> Value:
    return call.mapped("Mul", [x, call.mapped("Sigmoid", [x])])


def _softmax(call: Call, x: Value) -> Value:
    return call.mapped("Softmax", [x], axis=x.rank - 1)


def _log_softmax(call: Call, x: Value) -> Value:
    return call.mapped("LogSoftmax", [x], axis=x.rank - 1)


def _log_sigmoid(call: Call, x: Value) -> Value:
    return call.mapped("Neg", [call.mapped("Softplus", [call.mapped("Neg", [x])])])


def _tanh_shrink(call: Call, x: Value) -> Value:
    return call.mapped("Sub", [x, call.mapped("Tanh", [x])])


def _hard_sigmoid(call: Call, x: Value) -> Value:
    return call.mapped("HardSigmoid", [x], alpha=call.scope.dialect.hard_sigmoid_slope, beta=0.5)


def _squareplus(call: Call, x: Value) -> Value:
    """(x + sqrt(x^2 + 4)) / 2"""
    root = call.mapped("Sqrt", [scaled(call, call.mapped("Mul", [x, x]), 1, 4)])
    return scaled(call, call.mapped("Add", [x, root]), 0.5)


def _sparse_plus(call: Call, x: Value) -> Value:
    """0 up to -1, x from 1 on, and (x + 1)^2 / 4 between them."""
    inside = scaled(call, clip(call, x, -1, 1), 0.5, 0.5)
    beyond = call.mapped("Relu", [scaled(call, x, 1, -1)])
    return call.mapped("Add", [call.mapped("Mul", [inside, inside]), beyond])


def _sparse_sigmoid(call: Call, x: Value) -> Value:
    return clip(call, scaled(call, x, 0.5, 0.5), 0, 1)


def _glu(call: Call, x: Value) -> Value:
    """Halves along the last axis: the first by the sigmoid of the second."""
    names = call.nodes("Split", [x.name], 2, axis=-1, num_outputs=2)
    return Value(call.node("Mul", [names[0], call.node("Sigmoid", [names[1]])]), x.rank)


FUNCTIONS: Mapping[str, Function] = {
    "linear": lambda call, x: x,
    "celu": _unary("Celu"),
    "elu": _unary("Elu"),
    "exponential": _unary("Exp"),
    "gelu": _unary("Gelu"),
    "gelu_new": _unary("Gelu", approximate="tanh"),  # TensorFlow.js's name
    "glu": _glu,
    "hard_shrink": _unary("Shrink", bias=0.0, lambd=0.5),
    "hard_sigmoid": _hard_sigmoid,
    "hard_silu": _unary("HardSwish"),
    "hard_swish": _unary("HardSwish"),
    "hard_tanh": _clipped(-1, 1),
    "leaky_relu": _unary("LeakyRelu", alpha=0.2),
    "log_sigmoid": _log_sigmoid,
    "log_softmax": _log_softmax,
    "mish": _unary("Mish"),
    "relu": _unary("Relu"),
    "relu6": _clipped(0, 6),
    "selu": _unary("Selu"),
    "sigmoid": _unary("Sigmoid"),
    "silu": _silu,
    "soft_shrink": _unary("Shrink", bias=0.5, lambd=0.5),
    "softmax": _softmax,
    "softplus": _unary("Softplus"),
    "softsign": _unary("Softsign"),
    "sparse_plus": _sparse_plus,
    "sparse_sigmoid": _sparse_sigmoid,
    "squareplus": _squareplus,
    "swish": _silu,
    "tanh": _unary("Tanh"),
    "tanh_shrink": _tanh_shrink,
}


def _activation(call: Call) -> Value:
    return activated(call, call.x)


def _relu_layer(call: Call) -> Value:
    """f(x) = most above it, x above the threshold, and slope * (x - threshold) below."""
    x, slope = call.x, float(call.option("negative_slope", 0) or 0)
    threshold, most = float(call.option("threshold", 0) or 0), call.layer.config.get("max_value")
    if threshold == 0:
        if slope:
            y = call.mapped("LeakyRelu", [x], alpha=slope)
            return y if most is None else clip(call, y, None, float(most))
        return call.mapped("Relu", [x]) if most is None else clip(call, x, 0, float(most))
    above = call.mapped("ThresholdedRelu", [x], alpha=threshold)
    if most is not None:
        above = clip(call, above, None, float(most))
    if not slope:
        return above
    below = clip(call, scaled(call, x, 1, -threshold), None, 0)
    return call.mapped("Add", [above, scaled(call, below, slope)])


def _thresholded_relu(call: Call) -> Value:
    return call.mapped("ThresholdedRelu", [call.x], alpha=float(call.option("theta", 1)))


def _leaky_relu_layer(call: Call) -> Value:
    """Keras 2 calls the slope alpha."""
    slope = call.option("negative_slope", call.option("alpha", 0.3))
    return call.mapped("LeakyRelu", [call.x], alpha=float(slope))


def _elu_layer(call: Call) -> Value:
    return call.mapped("Elu", [call.x], alpha=float(call.option("alpha", 1)))


def _prelu_layer(call: Call) -> Value:
    return call.with_constant("PRelu", call.x, call.weight(0))


def _softmax_layer(call: Call) -> Value:
    """Over one axis, or several together."""
    x, given = call.x, call.option("axis", -1)
    if x.mask is not None:
        raise call.unsupported("its mask is not supported; save a model without it, and give whole sequences")
    axes = [int(a) % x.rank for a in (given if isinstance(given, list | tuple) else [given])]
    if len(axes) == 1:
        return call.mapped("Softmax", [x], axis=axes[0])
    most = call.node("ReduceMax", [x.name, call.integers(axes)])
    powers = call.node("Exp", [call.node("Sub", [x.name, most])])
    return Value(call.node("Div", [powers, call.node("ReduceSum", [powers, call.integers(axes)])]), x.rank)


LAYERS: dict[str, Handler] = {
    "Activation": _activation,
    "ELU": _elu_layer,
    "LeakyReLU": _leaky_relu_layer,
    "PReLU": _prelu_layer,
    "ReLU": _relu_layer,
    "Softmax": _softmax_layer,
    "ThresholdedReLU": _thresholded_relu,
}
