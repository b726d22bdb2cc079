"""Normalisations that onnxruntime has in the default domain, beside ONNX's: the importer moves them to the domain of
operators of its own."""

from __future__ import annotations

from collections.abc import Callable

from ...tensor import Tensor
from ..axes import one_axis
from ..broadcast import spread_input
from ..call import Call
from ..elementwise.casting import onnx_dtype
from .layer_normalisation import layer_normalization, rms_normalized


def _simplified_layer_normalization(call: Call) -> tuple[Tensor, ...]:
    """RMSNormalization; then 1/root, of the type that `stash_type` says."""
    x = call.input(0)
    axis = one_axis(call, call.attribute("axis", -1), x.rank)
    scale, stash = spread_input(call, 1, x.shape) or call.input(1), onnx_dtype(call, "stash_type", 1)
    return rms_normalized(call.name, x, scale, axis, call.attribute("epsilon", 1e-5), stash)


OPERATORS: dict[str, Callable[[Call], tuple[Tensor, ...]]] = {
    "LayerNormalization": layer_normalization,
    "SimplifiedLayerNormalization": _simplified_layer_normalization,
}
