"""Normalisations over all trailing axes, as transformers use them."""

from __future__ import annotations

from collections.abc import Callable

from ...dtypes import F32, DType
from ...ir.construct import unary
from ...ir.nodes import Expr
from ...ir.sizes import product, reciprocal
from ...tensor import Tensor, compute
from ..axes import one_axis
from ..broadcast import broadcast_element, spread_input
from ..call import Call
from ..elementwise.casting import onnx_dtype
from .normalisation import moments
from .reduce_axes import reduce_axes


def layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """ONNX LayerNormalization: y, and mean and 1/deviation with extent 1 in the normalised axes, of the type that
    `stash_type` says. A float64 input is normalised in float64."""
    x = call.input(0)
    scale, bias = _parameters(call, x)
    axis = one_axis(call, call.attribute("axis", -1), x.rank)
    stash = onnx_dtype(call, "stash_type", 1)
    return layer_normalized(call.name, x, scale, bias, axis, call.attribute("epsilon", 1e-5), stash)


def layer_normalized(
    name: str, x: Tensor, scale: Tensor, bias: Tensor | None, axis: int, epsilon: float, stash: DType
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer normalisation of any tensors, of which the axes from `axis` on are normalised."""
    mean, variance = moments(name, x.shape, range(axis, x.rank), (x,), lambda *i: x[i])
    inverse = compute(
        f"{name}.inverse",
        variance.shape,
        (variance,),
        lambda *i: 1 / unary("sqrt", variance[i] + epsilon),
    )

    def body(*i: Expr) -> Expr:
        value = (x[i] - mean[i[:axis]]) * inverse[i[:axis]] * broadcast_element(scale, i)
        return value if bias is None else value + broadcast_element(bias, i)

    y = compute(name, x.shape, (x, mean, inverse, scale, bias), body)
    return y, _stashed(mean, axis, x.rank, stash), _stashed(inverse, axis, x.rank, stash)


def _parameters(call: Call, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Scale and, where there is one, bias."""
    scale, bias = spread_input(call, 1, x.shape), spread_input(call, 2, x.shape)
    return scale or call.input(1), bias


def _stashed(t: Tensor, axis: int, rank: int, dtype: DType) -> Tensor:
    shape = (*t.shape, *(1 for _ in range(axis, rank)))
    return compute(f"{t.name}.out", shape, (t,), lambda *i: t[i[:axis]].cast(dtype))


def rms_normalization(call: Call) -> Tensor:
    """ONNX RMSNormalization: x over the root of its mean square."""
    x = call.input(0)
    scale, _ = _parameters(call, x)
    axis = one_axis(call, call.attribute("axis", -1), x.rank)
    return rms_normalized(call.name, x, scale, axis, call.attribute("epsilon", 1e-5), F32)[0]


def rms_normalized(
    name: str, x: Tensor, scale: Tensor, axis: int, epsilon: float, stash: DType
) -> tuple[Tensor, Tensor]:
    """RMS normalisation of any tensors, of which the axes from `axis` on are normalised, and 1/root as
    `layer_normalized` has it."""
    share = reciprocal(product(x.shape[axis:]), x.dtype)
    squares = reduce_axes(f"{name}.squares", "sum", x.shape, range(axis, x.rank), (x,), lambda *i: x[i] * x[i])
    inverse = compute(
        f"{name}.inverse",
        squares.shape,
        (squares,),
        lambda *i: 1 / unary("sqrt", squares[i] * share + epsilon),
    )
    y = compute(
        name,
        x.shape,
        (x, inverse, scale),
        lambda *i: x[i] * inverse[i[:axis]] * broadcast_element(scale, i),
    )
    return y, _stashed(inverse, axis, x.rank, stash)


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "LayerNormalization": layer_normalization,
    "RMSNormalization": rms_normalization,
}
