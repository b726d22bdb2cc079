"""Operators of com.microsoft that onnxruntime's optimiser and exporters write in place of several of ai.onnx."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import F16, F32, F64
from ...tensor import Tensor, compute
from ..broadcast import pointwise
from ..call import Call
from ..elementwise.activation import gelu_by_erf, gelu_by_tanh, swish
from ..movement.rearranging import transposed
from .linear import mat_mul_of


def _gelu(call: Call) -> Tensor:
    """x * (1 + erf(x / sqrt(2))) / 2."""
    return pointwise(call, gelu_by_erf, call.input(0))


def _bias_gelu(call: Call) -> Tensor:
    """Gelu of x plus a bias along the last axis."""
    x = call.input(0)
    return pointwise(call, lambda v, bias: gelu_by_erf(v + bias), x, call.input(1, x.shape[-1:]))


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
    "BiasGelu": _of_floats(_bias_gelu),
    "FastGelu": _of_floats(_fast_gelu),
    "FusedMatMul": _of_floats(_fused_mat_mul),
    "Gelu": _of_floats(_gelu),
    "QuickGelu": _of_floats(_quick_gelu),
}
