"""Functions of each element, and operators on operands that are broadcast."""

from __future__ import annotations

from typing import Any

import onnx

from ..activations import activated, gelu, linear
from ..network_call import Array, Layer, LayerHandler, mapped

_ACTIVATIONS = {
    "ELU": "elu",
    "ReLU": "relu",
    "leakyReLU": "leaky_relu",
    "linear": "linear_activation",
    "scaledTanh": "scaled_tanh",
    "sigmoid": "sigmoid",
    "sigmoidHard": "sigmoid_hard",
    "softplus": "softplus",
    "softsign": "softsign",
    "tanh": "tanh",
    "thresholdedReLU": "thresholded_relu",
}


def activation_kind(params: Any) -> str:
    return next((f.name for f, _ in params.ListFields()), "none")


def _activation(layer: Layer) -> Array:
    kind, x = activation_kind(layer.params), layer.x
    if kind in ("PReLU", "parametricSoftplus"):
        return Array(_by_channel(layer, kind), x.rank)
    if kind not in _ACTIVATIONS:
        raise layer.unsupported(f"the activation {kind}")
    own = getattr(layer.params, kind)
    result = activated(layer, _ACTIVATIONS[kind], x.name, getattr(own, "alpha", 0.0), getattr(own, "beta", 0.0))
    assert result is not None
    return Array(result, x.rank)


def _by_channel(layer: Layer, kind: str) -> str:
    x, own = layer.x.name, getattr(layer.params, kind)

    def read(weights: Any) -> str:
        count = max(len(weights.floatValue), len(weights.float16Value) // 2)
        return layer.weights(weights, count, 1, 1)

    if kind == "PReLU":
        return layer.node("PRelu", [x, read(own.alpha)])
    inner = layer.node("Softplus", [layer.node("Mul", [x, read(own.beta)])])
    return layer.node("Mul", [inner, read(own.alpha)])


def _clamped_relu(layer: Layer) -> Array:
    result = activated(layer, "clamped_relu", layer.x.name, layer.params.alpha, layer.params.beta)
    assert result is not None
    return Array(result, layer.x.rank)


def _gelu(layer: Layer) -> Array:
    mode = ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")[layer.params.mode]
    result = gelu(layer, layer.x.name, mode)
    assert result is not None
    return Array(result, layer.x.rank)


def _unary(layer: Layer) -> Array:
    """A function of `scale * x + shift`."""
    p = layer.params
    x = linear(layer, layer.x.name, p.scale if p.HasField("scale") else 1.0, p.shift)
    epsilon = p.epsilon if p.HasField("epsilon") else 1e-6

    def shifted() -> str:
        return linear(layer, x, 1.0, epsilon)

    match p.type:
        case 0:
            result = layer.node("Sqrt", [x])
        case 1:
            result = layer.node("Reciprocal", [layer.node("Sqrt", [shifted()])])
        case 2:
            result = layer.node("Reciprocal", [shifted()])
        case 3:
            result = layer.node("Pow", [x, layer.number(p.alpha)])
        case 4:
            result = layer.node("Exp", [x])
        case 5:
            result = layer.node("Log", [x])
        case 6:
            result = layer.node("Abs", [x])
        case 7:
            result = layer.node("Max", [x, layer.number(p.alpha)])
        case _:
            raise layer.unsupported(f"the function {p.type}")
    return Array(result, layer.x.rank)


def _clip(layer: Layer) -> Array:
    p = layer.params
    return Array(layer.node("Clip", [layer.x.name, layer.number(p.minVal), layer.number(p.maxVal)]), layer.x.rank)


def _exp2(layer: Layer) -> Array:
    return Array(layer.node("Pow", [layer.number(2.0), layer.x.name]), layer.x.rank)


def _joined(op: str) -> LayerHandler:
    """An operator on two operands or more."""

    def convert(layer: Layer) -> Array:
        operands = layer.operands
        return Array(layer.node(op, [o.name for o in operands]), max(o.rank for o in operands))

    return convert


def _with_number(op: str) -> LayerHandler:
    """An operator on one operand and a number, or on several operands."""

    def convert(layer: Layer) -> Array:
        first, *rest = layer.operands
        result = first.name
        for other in [o.name for o in rest] or [layer.number(layer.params.alpha)]:
            result = layer.node(op, [result, other])
        return Array(result, max(o.rank for o in layer.operands))

    return convert


def _compared(op: str, negated: bool = False) -> LayerHandler:
    """A comparison of two operands, or of one and a number: 1 where it holds, else 0."""

    def convert(layer: Layer) -> Array:
        operands = layer.operands
        other = operands[1].name if len(operands) > 1 else layer.number(layer.params.alpha)
        result = layer.node(op, [operands[0].name, other])
        result = layer.node("Not", [result]) if negated else result
        return Array(layer.cast(result), max(o.rank for o in operands))

    return convert


def _logical(op: str) -> LayerHandler:
    def convert(layer: Layer) -> Array:
        operands = layer.operands
        truths = [layer.cast(o.name, onnx.TensorProto.BOOL) for o in operands]
        return Array(layer.cast(layer.node(op, truths)), max(o.rank for o in operands))

    return convert


def _where(layer: Layer) -> Array:
    condition, a, b = layer.operands
    is_set = layer.cast(condition.name, onnx.TensorProto.BOOL)
    return Array(layer.node("Where", [is_set, a.name, b.name]), max(o.rank for o in layer.operands))


def _floor_div(layer: Layer) -> Array:
    a, b = layer.operands
    return Array(layer.node("Floor", [layer.node("Div", [a.name, b.name])]), max(a.rank, b.rank))


def _mod(layer: Layer) -> Array:
    """The result has the sign of the divisor."""
    a, b = layer.operands
    floors = _floor_div(layer)
    return Array(layer.node("Sub", [a.name, layer.node("Mul", [floors.name, b.name])]), floors.rank)


def _softmax(layer: Layer) -> Array:
    """Over channels."""
    return Array(layer.node("Softmax", [layer.x.name], axis=-3 if layer.x.rank > 2 else -1), layer.x.rank)


def _softmax_nd(layer: Layer) -> Array:
    return Array(layer.node("Softmax", [layer.x.name], axis=layer.params.axis), layer.x.rank)


LAYERS: dict[str, LayerHandler] = {
    **{
        name: mapped(name.title())
        for name in (
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "ceil",
            "cos",
            "cosh",
            "erf",
            "floor",
            "round",
            "sign",
            "sin",
            "sinh",
            "tan",
            "tanh",
        )
    },
    "copy": mapped("Identity"),
    "activation": _activation,
    "add": _with_number("Add"),
    "addBroadcastable": _joined("Add"),
    "average": _joined("Mean"),
    "clampedReLU": _clamped_relu,
    "clip": _clip,
    "divideBroadcastable": _joined("Div"),
    "equal": _compared("Equal"),
    "exp2": _exp2,
    "floorDivBroadcastable": _floor_div,
    "gelu": _gelu,
    "greaterEqual": _compared("GreaterOrEqual"),
    "greaterThan": _compared("Greater"),
    "lessEqual": _compared("LessOrEqual"),
    "lessThan": _compared("Less"),
    "logicalAnd": _logical("And"),
    "logicalNot": _logical("Not"),
    "logicalOr": _logical("Or"),
    "logicalXor": _logical("Xor"),
    "max": _joined("Max"),
    "maxBroadcastable": _joined("Max"),
    "min": _joined("Min"),
    "minBroadcastable": _joined("Min"),
    "modBroadcastable": _mod,
    "multiply": _with_number("Mul"),
    "multiplyBroadcastable": _joined("Mul"),
    "notEqual": _compared("Equal", negated=True),
    "powBroadcastable": _joined("Pow"),
    "softmax": _softmax,
    "softmaxND": _softmax_nd,
    "subtractBroadcastable": _joined("Sub"),
    "unary": _unary,
    "whereBroadcastable": _where,
}
