"""Normalisations that onnxruntime has in the default domain, beside ONNX's or in opsets before these: the importer
moves them to the domain of operators of its own."""

from __future__ import annotations

from collections.abc import Callable

from ...tensor import Tensor
from ..axes import one_axis
from ..broadcast import spread_input
from ..call import Call
from ..elementwise.casting import onnx_dtype
from .layer_normalisation import layer_normalization, rms_normalized
from .normalisation import standardized


def _simplified_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """RMSNormalization; then 1/root, of the type that `stash_type` says."""
    x = call.input(0)
    axis = one_axis(call, call.attribute("axis", -1), x.rank)
    scale, stash = spread_input(call, 1, x.shape) or call.input(1), onnx_dtype(call, "stash_type", 1)
    return rms_normalized(call.name, x, scale, axis, call.attribute("epsilon", 1e-5), stash)


def _mean_variance_normalization(call: Call) -> Tensor:
    """MeanVarianceNormalization before opset 9: along batch, height and width, and by an attribute channels, too."""
    rank, across = call.input(0).rank, call.flag("across_channels", 0)
    axes = tuple(d for d in range(min(rank, 4)) if d != 1 or across)
    return standardized(call, axes, scaled=call.flag("normalize_variance", 1))


OPERATORS: dict[str, Callable[[Call], Tensor | tuple[Tensor, ...]]] = {
    "LayerNormalization": layer_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "SimplifiedLayerNormalization": _simplified_layer_normalization,
}
