"""Layers that read and write elements by places, and select boxes."""

from __future__ import annotations

from ..network_call import Array, Layer, LayerHandler
from ..scattering import Scatter
from ..suppression import suppressed

_MODES = ("update", "add", "sub", "mul", "div", "max", "min")
"""`ScatterMode` of NeuralNetwork.proto."""


def _gather(layer: Layer) -> Array:
    x, indices = layer.operands
    result = layer.node("Gather", [x.name, layer.places(indices)], axis=layer.params.axis)
    return Array(result, x.rank - 1 + indices.rank)


def _gather_along_axis(layer: Layer) -> Array:
    x, indices = layer.operands
    return Array(layer.node("GatherElements", [x.name, layer.places(indices)], axis=layer.params.axis), x.rank)


def _scatter_of(layer: Layer) -> Scatter:
    data, indices, updates = layer.operands
    return Scatter(layer, data.name, data.rank, layer.places(indices), updates.name, _MODES[layer.params.mode])


def _scatter(layer: Layer) -> Array:
    return Array(_scatter_of(layer).slices(layer.params.axis, layer.operands[1].rank), layer.x.rank)


def _scatter_along_axis(layer: Layer) -> Array:
    return Array(_scatter_of(layer).along(layer.params.axis), layer.x.rank)


def _scatter_nd(layer: Layer) -> Array:
    return Array(_scatter_of(layer).at_places(), layer.x.rank)


def _non_maximum_suppression(layer: Layer) -> list[Array]:
    p, operands = layer.params, layer.operands
    if len(operands) > 2:
        raise layer.unsupported("its thresholds are computed; convert the model with constant ones")
    boxes, scores = operands
    numbers = (p.iouThreshold, p.scoreThreshold, int(p.maxBoxes), p.perClassSuppression)
    *rows, places, count = suppressed(layer, boxes.name, scores.name, *numbers)
    return [*(Array(r, 3) for r in rows), Array(layer.cast(places), 2), Array(layer.cast(count), 1)]


LAYERS: dict[str, LayerHandler] = {
    "NonMaximumSuppression": _non_maximum_suppression,
    "gather": _gather,
    "gatherAlongAxis": _gather_along_axis,
    "scatter": _scatter,
    "scatterAlongAxis": _scatter_along_axis,
    "scatterND": _scatter_nd,
}
