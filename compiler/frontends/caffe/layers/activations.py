"""Functions of each element, and softmax.

Source: the layers of BVLC/caffe by these names; of forks ReLU6, Swish and Mish.
"""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from ...ranked_call import Value
from ..call import Call, Handler


def _relu(call: Call) -> Value:
    slope = call.parameters("relu_param").negative_slope
    return call.apply("LeakyRelu", call.x, alpha=slope) if slope else call.apply("Relu", call.x)


def _prelu(call: Call) -> Value:
    slopes = call.weight(0).reshape(-1)
    along = slopes.reshape(-1, *(1,) * (call.x.rank - 2)) if slopes.size > 1 else slopes
    return call.apply("PRelu", call.x, call.constant(along, "slopes"))


def _elu(call: Call) -> Value:
    return call.apply("Elu", call.x, alpha=call.parameters("elu_param").alpha)


def _power(call: Call) -> Value:
    """(shift + scale * x) ** power."""
    p = call.parameters("power_param")
    x = call.scaled(call.x, p.scale, p.shift)
    return x if p.power == 1 else call.apply("Pow", x, p.power)


def _exp(call: Call) -> Value:
    """base ** (shift + scale * x); a base of -1 is e."""
    p = call.parameters("exp_param")
    factor = _logarithm(call, p.base)
    return call.apply("Exp", call.scaled(call.x, p.scale * factor, p.shift * factor))


def _log(call: Call) -> Value:
    """The logarithm of shift + scale * x to a base, of which -1 is e."""
    p = call.parameters("log_param")
    return call.scaled(call.apply("Log", call.scaled(call.x, p.scale, p.shift)), 1 / _logarithm(call, p.base), 0)


def _logarithm(call: Call, base: float) -> float:
    if base == -1:
        return 1.0
    if base <= 0 or base == 1:
        raise call.unsupported(f"the base {base}")
    return math.log(base)


def _threshold(call: Call) -> Value:
    above = call.apply("Greater", call.x, call.parameters("threshold_param").threshold)
    return call.apply("Cast", above, to=TensorProto.FLOAT)


def _clip(call: Call) -> Value:
    p = call.parameters("clip_param")
    return call.apply("Clip", call.x, p.min, p.max)


def _swish(call: Call) -> Value:
    return call.apply("Mul", call.x, call.apply("Sigmoid", call.scaled(call.x, call.parameters("swish_param").beta, 0)))


def _softmax(call: Call) -> Value:
    axis = call.axis(call.parameters("softmax_param").axis, call.x.rank)
    return call.apply("Softmax", call.x, axis=axis)


def _parameter(call: Call) -> Value:
    data = call.weight(0)
    return Value(call.constant(np.asarray(data)), data.ndim)


LAYERS: dict[str, Handler] = {
    "AbsVal": lambda call: call.apply("Abs", call.x),
    "BNLL": lambda call: call.apply("Softplus", call.x),
    "Clip": _clip,
    "Dropout": lambda call: call.x,
    "ELU": _elu,
    "Exp": _exp,
    "Log": _log,
    "Mish": lambda call: call.apply("Mish", call.x),
    "PReLU": _prelu,
    "Parameter": _parameter,
    "Power": _power,
    "ReLU": _relu,
    "ReLU6": lambda call: call.apply("Clip", call.x, 0.0, 6.0),
    "Sigmoid": lambda call: call.apply("Sigmoid", call.x),
    "SigmoidCrossEntropyLoss": lambda call: call.apply("Sigmoid", call.x),
    "Softmax": _softmax,
    "SoftmaxWithLoss": _softmax,
    "Split": lambda call: call.x,
    "Swish": _swish,
    "TanH": lambda call: call.apply("Tanh", call.x),
    "Threshold": _threshold,
}
