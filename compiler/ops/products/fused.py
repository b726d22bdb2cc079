"""Operators of com.microsoft that onnxruntime's optimiser and exporters write in place of several of ai.onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...dtypes import F16, F32, F64
from ...ir.construct import maximum, minimum, unary
from ...ir.nodes import Expr
from ...tensor import Tensor, compute
from ..broadcast import pointwise
from ..call import Call
from ..elementwise.activation import (
    celu,
    elu,
    gelu_by_erf,
    gelu_by_tanh,
    hard_sigmoid,
    hard_swish,
    leaky_relu,
    selu,
    sigmoid,
    softplus,
    softsign,
    swish,
    thresholded_relu,
)
from ..movement.channels_last import channels_last
from ..movement.rearranging import transposed
from .convolution import conv
from .convolution_transpose import conv_transpose
from .linear import gemm, mat_mul_of

_ACTIVATIONS: Mapping[str, tuple[Callable[..., Expr], tuple[str, ...]]] = {
    "Celu": (celu, ("alpha",)),
    "Clip": (lambda x, low, high: minimum(maximum(x, low), high), ("low", "high")),
    "Elu": (elu, ("alpha",)),
    "HardSigmoid": (hard_sigmoid, ("alpha", "beta")),
    "HardSwish": (hard_swish, ()),
    "LeakyRelu": (leaky_relu, ("alpha",)),
    "Relu": (lambda x: maximum(x, 0), ()),
    "Selu": (selu, ("alpha", "gamma")),
    "Sigmoid": (sigmoid, ()),
    "Softplus": (softplus, ()),
    "Softsign": (softsign, ()),
    "Tanh": (lambda x: unary("tanh", x), ()),
    "ThresholdedRelu": (thresholded_relu, ("alpha",)),
}
"""Functions of sums, with the names of their parameters, which have no defaults there."""


def _gelu(call: Call) -> Tensor:
    """x * (1 + erf(x / sqrt(2))) / 2."""
    return pointwise(call, gelu_by_erf, call.input(0))


def _bias_gelu(call: Call) -> Tensor:
    """Gelu of x plus a bias along the last axis."""
    x = call.input(0)
    return pointwise(call, lambda v, bias: gelu_by_erf(v + bias), x, call.input(1, x.shape[-1:]))


def _bias_add(call: Call) -> Tensor:
    """x plus a bias along the last axis, plus a tensor of the shape of x."""
    x = call.input(0, (None, None, None))
    return pointwise(call, lambda v, b, skip: v + b + skip, x, call.input(1, x.shape[-1:]), call.input(2, x.shape))


def _bias_split_gelu(call: Call) -> Tensor:
    """The first half of x plus a bias along the last axis, times Gelu of the second half."""
    x = call.input(0, (None, None, None))
    bias = call.input(1, x.shape[-1:])
    (columns,) = call.fixed(x, (2,))
    if columns % 2:
        raise call.unsupported(f"its input has {columns} columns, which are no two halves", "the model is invalid")
    half = columns // 2

    def body(b: Expr, i: Expr, c: Expr) -> Expr:
        return (x[b, i, c] + bias[c,]) * gelu_by_erf(x[b, i, c + half] + bias[c + half,])

    return compute(call.name, (*x.shape[:2], half), (x, bias), body)


def _fast_gelu(call: Call) -> Tensor:
    """Gelu approximated by tanh, of x plus an optional bias along the last axis."""
    x = call.input(0)
    bias = call.optional(1, x.shape[-1:])
    if bias is None:
        return pointwise(call, gelu_by_tanh, x)
    return pointwise(call, lambda v, b: gelu_by_tanh(v + b), x, bias)


def _quick_gelu(call: Call) -> Tensor:
    """x * sigmoid(alpha * x)."""
    alpha = call.attribute("alpha", 1.702)
    return pointwise(call, lambda x: swish(x, alpha), call.input(0))


def _fused_mat_mul(call: Call) -> Tensor:
    """alpha * A' B' with MatMul's broadcasting. transA exchanges A's last two dimensions, transBatchA moves its first
    one behind the other batch dimensions before that; the same for B."""
    a, b = (_operand(call, index, side) for index, side in enumerate("AB"))
    product = mat_mul_of(call, a, b)
    alpha = call.attribute("alpha", 1.0)
    if alpha == 1:
        return product
    return compute(f"{call.name}.scaled", product.shape, (product,), lambda *i: product[i] * alpha)


def _fused_conv(call: Call) -> Tensor:
    """Conv, plus input 3, then an activation, whose parameters are a list."""
    result = conv(call)
    added = call.optional(3, result.shape)
    if added is not None:
        result = compute(f"{call.name}.plus", result.shape, (result, added), lambda *i: result[i] + added[i])
    return _activated(call, result, _listed(call))


def _fused_conv_transpose(call: Call) -> Tensor:
    """ConvTranspose, then an activation, whose parameters are a list."""
    return _activated(call, conv_transpose(call), _listed(call))


def _fused_gemm(call: Call) -> Tensor:
    """Gemm, then an activation, whose parameters are attributes."""

    def parameters(names: Sequence[str]) -> list[float]:
        attributes = [f"activation_{name}" for name in names]
        return [call.attribute(a, 0.0) for a in attributes if a in call.attributes]

    return _activated(call, gemm(call), parameters)


def _listed(call: Call) -> Callable[[Sequence[str]], Sequence[float]]:
    """The parameters of an activation, or fewer where some are missing, from the attribute activation_params."""
    absent: tuple[float, ...] = ()
    parameters = call.attribute("activation_params", absent)
    return lambda names: parameters[: len(names)]


def _activated(call: Call, t: Tensor, parameters: Callable[[Sequence[str]], Sequence[float]]) -> Tensor:
    """The activation of a tensor; `parameters` has its parameters by their names, or fewer where some are missing."""
    name = call.attribute("activation", "")
    if not name:
        return t
    if name not in _ACTIVATIONS:
        raise call.unsupported(f"attribute activation={name!r}", "save the model with less optimisation")
    function, names = _ACTIVATIONS[name]
    given = parameters(names)
    if len(given) < len(names):
        raise call.unsupported(f"activation {name} lacks parameters: it has {', '.join(names)}", "the model is invalid")
    return compute(f"{call.name}.activated", t.shape, (t,), lambda *i: function(t[i], *given))


def _operand(call: Call, index: int, side: str) -> Tensor:
    """Input `index` with the dimensions that the product has. Those of a vector stay, as in onnxruntime."""
    t = call.input(index)
    swapped, moved = call.flag(f"trans{side}", 0), call.flag(f"transBatch{side}", 0)
    perm = list(range(t.rank))
    if moved and t.rank > 2:
        perm.insert(t.rank - 2, perm.pop(0))
    if swapped and t.rank > 1:
        perm[-2:] = perm[:-3:-1]
    return t if perm == sorted(perm) else transposed(f"{call.name}.{side.lower()}", t, perm)


def _of_floats(operator: Callable[[Call], Tensor]) -> Callable[[Call], Tensor]:
    def checked(call: Call) -> Tensor:
        call.check_dtypes(range(len(call.inputs)), F32, F16, F64)
        return operator(call)

    return checked


OPERATORS = {
    "BiasAdd": _of_floats(_bias_add),
    "BiasGelu": _of_floats(_bias_gelu),
    "BiasSplitGelu": _of_floats(_bias_split_gelu),
    "FastGelu": _of_floats(_fast_gelu),
    "FusedConv": _of_floats(_fused_conv),
    "FusedConvTranspose": _of_floats(_fused_conv_transpose),
    "FusedGemm": _of_floats(_fused_gemm),
    "FusedMatMul": _of_floats(_fused_mat_mul),
    "Gelu": _of_floats(_gelu),
    "NhwcConv": _of_floats(channels_last(conv, (0, 3))),
    "NhwcFusedConv": _of_floats(channels_last(_fused_conv, (0, 3))),
    "QuickGelu": _of_floats(_quick_gelu),
}
