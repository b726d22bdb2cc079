"""Activation functions that programs and neural networks share."""

from __future__ import annotations

from ..converted_call import ConvertedCall

GELUS = {"TANH_APPROXIMATION": "tanh", "EXACT": "none"}
"""ONNX's `approximate` by Core ML's mode."""

_PLAIN = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


def activated(call: ConvertedCall, kind: str, x: str, alpha: float = 0.0, beta: float = 0.0) -> str | None:
    """The function of this name in MIL on each element of `x`; None where there is none of this name with numbers
    alone."""
    if kind in _PLAIN:
        return call.node(_PLAIN[kind], [x])
    match kind:
        case "relu6":
            return call.node("Clip", [x, call.number(0.0), call.number(6.0)])
        case "leaky_relu":
            return call.node("LeakyRelu", [x], alpha=alpha)
        case "elu":
            return call.node("Elu", [x], alpha=alpha)
        case "sigmoid_hard":
            return call.node("HardSigmoid", [x], alpha=alpha, beta=beta)
        case "silu":
            return call.node("Mul", [x, call.node("Sigmoid", [x])])
        case "linear_activation":
            return linear(call, x, alpha, beta)
        case "scaled_tanh":
            return linear(call, call.node("Tanh", [linear(call, x, beta, 0.0)]), alpha, 0.0)
        case "clamped_relu":
            leaky = call.node("LeakyRelu", [x], alpha=alpha)
            return call.node("Min", [leaky, call.number(beta)])
        case "thresholded_relu":
            kept = call.node("GreaterOrEqual", [x, call.number(alpha)])
            return call.node("Where", [kept, x, call.number(0.0)])
    return None


def linear(call: ConvertedCall, x: str, scale: float, offset: float) -> str:
    """`scale * x + offset`."""
    scaled = x if scale == 1 else call.node("Mul", [x, call.number(scale)])
    return scaled if offset == 0 else call.node("Add", [scaled, call.number(offset)])


def gelu(call: ConvertedCall, x: str, mode: str) -> str | None:
    """GELU in a mode of Core ML; None for another mode."""
    if mode in GELUS:
        return call.node("Gelu", [x], approximate=GELUS[mode])
    if mode != "SIGMOID_APPROXIMATION":
        return None
    return call.node("Mul", [x, call.node("Sigmoid", [linear(call, x, 1.702, 0.0)])])
