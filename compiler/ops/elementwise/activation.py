"""Activation functions, element by element.

Formulas are chosen so that nothing overflows to NaN and float32 stays near the exact value for large |x|.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...dtypes import F32
from ...ir.construct import maximum, minimum, select, unary
from ...ir.nodes import Expr
from ...ir.sizes import shown
from ...tensor import Tensor
from ..broadcast import broadcast_shape, pointwise, unary_operator
from ..call import Call

_SMALLEST_NORMAL = 2.0**-126
"""The smallest normal float32."""


def _exp(x: Expr) -> Expr:
    return unary("exp", x)


def sigmoid(x: Expr) -> Expr:
    return 1 / (1 + _exp(-x))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)), relatively exact for negative x, too."""
    return maximum(x, 0) + unary("log1p", _exp(-unary("abs", x)))


def softsign(x: Expr) -> Expr:
    return x / (1 + unary("abs", x))


def _mish(x: Expr) -> Expr:
    """x * tanh(log(1 + e^x)) with one exponential; beyond 20 the factor is 1 in float32."""
    e = _exp(minimum(x, 20))
    n = e * (e + 2)
    return x * (n / (n + 2))


def hard_swish(x: Expr) -> Expr:
    return x * minimum(maximum(x * (1 / 6) + 0.5, 0), 1)


def _with(fn: Callable[..., Expr], **defaults: float) -> Callable[[Call], Tensor]:
    """The operator `fn(x, *attributes)`; `defaults` names the attributes in order, with ONNX's default values."""

    def operator(call: Call) -> Tensor:
        values = [call.attribute(name, default) for name, default in defaults.items()]
        return pointwise(call, lambda x: fn(x, *values), call.input(0))

    return operator


def leaky_relu(x: Expr, alpha: float) -> Expr:
    return maximum(x, x * alpha) if 0 < alpha <= 1 else select(x < 0, x * alpha, x)


def elu(x: Expr, alpha: float) -> Expr:
    return select(x < 0, (_exp(x) - 1) * alpha, x)


def selu(x: Expr, alpha: float, gamma: float) -> Expr:
    return select(x > 0, x, (_exp(x) - 1) * alpha) * gamma


def celu(x: Expr, alpha: float) -> Expr:
    """A Relu where alpha is 0, or so small that 1 / alpha overflows: the results differ by alpha at most."""
    if 0 <= alpha < _SMALLEST_NORMAL:
        return maximum(x, 0)
    return maximum(x, 0) + minimum((_exp(x * (1 / alpha)) - 1) * alpha, 0)


def hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return minimum(maximum(x * alpha + beta, 0), 1)


def thresholded_relu(x: Expr, alpha: float) -> Expr:
    return select(x > alpha, x, 0)


def swish(x: Expr, alpha: float) -> Expr:
    return x / (1 + _exp(-(x * alpha)))


def gelu_by_erf(x: Expr) -> Expr:
    return x * 0.5 * (unary("erf", x * math.sqrt(0.5)) + 1)


def gelu_by_tanh(x: Expr) -> Expr:
    """The approximation of BERT's authors, within 5e-4."""
    return x * 0.5 * (unary("tanh", (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)) + 1)


def _gelu(call: Call) -> Tensor:
    """By erf, or approximated by tanh with approximate="tanh" (opset 20)."""
    x, mode = call.input(0), call.attribute("approximate", "none")
    if mode == "tanh":
        return pointwise(call, gelu_by_tanh, x)
    if mode == "none":
        return pointwise(call, gelu_by_erf, x)
    raise call.unsupported(f"attribute approximate={mode!r} is unknown", "use 'none' or 'tanh'")


def _shrink(call: Call) -> Tensor:
    """x + bias below -lambd, x - bias above lambd, 0 between; integers go through float32."""
    lambd, bias = call.attribute("lambd", 0.5), call.attribute("bias", 0.0)
    x = call.input(0)

    def body(element: Expr) -> Expr:
        v = element if x.dtype.is_float else element.cast(F32)
        return select(v < -lambd, v + bias, select(v > lambd, v - bias, 0)).cast(x.dtype)

    return pointwise(call, body, x)


def _prelu(call: Call) -> Tensor:
    """The slope broadcasts to the shape of x, never the other way."""
    x, slope = call.input(0), call.input(1)
    if slope.rank > x.rank or broadcast_shape(call, [x.shape, slope.shape]) != x.shape:
        raise call.unsupported(
            f"the slope of shape {shown(slope.shape)} does not broadcast to {shown(x.shape)}", "check the model"
        )
    return pointwise(call, lambda v, s: select(v < 0, v * s, v), x, slope)


OPERATORS = {
    "Relu": unary_operator(lambda x: maximum(x, 0)),
    "LeakyRelu": _with(leaky_relu, alpha=0.01),
    "PRelu": _prelu,
    "Elu": _with(elu, alpha=1.0),
    "Selu": _with(selu, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875),
    "Celu": _with(celu, alpha=1.0),
    "Sigmoid": unary_operator(sigmoid),
    "HardSigmoid": _with(hard_sigmoid, alpha=0.2, beta=0.5),
    "HardSwish": unary_operator(hard_swish),
    "Swish": _with(swish, alpha=1.0),
    "Softplus": unary_operator(softplus),
    "Softsign": unary_operator(softsign),
    "ThresholdedRelu": _with(thresholded_relu, alpha=1.0),
    "Gelu": _gelu,
    "Mish": unary_operator(_mish),
    "Shrink": _shrink,
}
