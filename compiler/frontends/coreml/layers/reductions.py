"""Reductions, running sums, and places of the largest."""

from __future__ import annotations

from ..network_call import Array, Layer, LayerHandler

_REDUCE = (
    "ReduceSum",
    "ReduceMean",
    "ReduceProd",
    "",
    "ReduceSumSquare",
    "ReduceL1",
    "ReduceL2",
    "ReduceMax",
    "ReduceMin",
)
_LOG_SUM, _ARG_MAX = 3, 9
_AXES = ([-3, -2, -1], [-2, -1], [-3], [-2], [-1])


def _reduce(layer: Layer) -> Array:
    """Over channels, height or width, which stay as dimensions of one."""
    p, x = layer.params, layer.x
    axes = _AXES[p.axis]
    if p.mode == _ARG_MAX:
        if len(axes) > 1:
            raise layer.unsupported("it takes the place of the largest over several dimensions")
        return Array(layer.cast(layer.node("ArgMax", [x.name], axis=axes[0], keepdims=1)), x.rank)
    if p.mode == _LOG_SUM:  # the sum of logarithms
        logarithms = layer.node("Log", [layer.node("Add", [x.name, layer.number(p.epsilon)])])
        return Array(layer.node("ReduceSum", [logarithms, layer.integers(axes)], keepdims=1), x.rank)
    return Array(layer.node(_REDUCE[p.mode], [x.name, layer.integers(axes)], keepdims=1), x.rank)


def _reduce_nd(op: str) -> LayerHandler:
    """Over some axes, or over all; a scalar is a vector of one element."""

    def convert(layer: Layer) -> Array:
        p, x = layer.params, layer.x
        axes = sorted({int(a) % x.rank for a in p.axes})
        if p.reduceAll or not axes:
            axes = list(range(x.rank))
        result = layer.node(op, [x.name, layer.integers(axes)], keepdims=int(p.keepDims))
        rank = x.rank if p.keepDims else x.rank - len(axes)
        return Array(result, rank) if rank else Array(layer.reshaped(result, [1]), 1)

    return convert


def _arg(op: str) -> LayerHandler:
    def convert(layer: Layer) -> Array:
        p, x = layer.params, layer.x
        place = layer.cast(layer.node(op, [x.name], axis=p.axis, keepdims=int(not p.removeDim)))
        rank = x.rank - int(p.removeDim)
        return Array(place, rank) if rank else Array(layer.reshaped(place, [1]), 1)

    return convert


def _top_k(layer: Layer) -> list[Array]:
    p, operands = layer.params, layer.operands
    x = operands[0]
    count = layer.reshaped(layer.places(operands[1]), [1]) if len(operands) > 1 else layer.integers([max(int(p.K), 1)])
    values, places = layer.nodes("TopK", [x.name, count], 2, axis=p.axis, largest=int(not p.useBottomK))
    return [Array(values, x.rank), Array(layer.cast(places), x.rank)]


def _arg_sort(layer: Layer) -> Array:
    p, x = layer.params, layer.x
    axis = p.axis % x.rank
    count = layer.node("Shape", [x.name], start=axis, end=axis + 1)
    _, places = layer.nodes("TopK", [x.name, count], 2, axis=axis, largest=int(p.descending))
    return Array(layer.cast(places), x.rank)


def _cum_sum(layer: Layer) -> Array:
    p, operands = layer.params, layer.operands
    axis = layer.reshaped(layer.places(operands[1]), []) if len(operands) > 1 else layer.integers(p.axis)
    flags = {"exclusive": int(p.excludeFinalSum), "reverse": int(p.reverse)}
    return Array(layer.node("CumSum", [operands[0].name, axis], **flags), operands[0].rank)


LAYERS: dict[str, LayerHandler] = {
    "argMax": _arg("ArgMax"),
    "argMin": _arg("ArgMin"),
    "argSort": _arg_sort,
    "cumSum": _cum_sum,
    "reduce": _reduce,
    "reduceL1": _reduce_nd("ReduceL1"),
    "reduceL2": _reduce_nd("ReduceL2"),
    "reduceLogSum": _reduce_nd("ReduceLogSum"),
    "reduceLogSumExp": _reduce_nd("ReduceLogSumExp"),
    "reduceMax": _reduce_nd("ReduceMax"),
    "reduceMean": _reduce_nd("ReduceMean"),
    "reduceMin": _reduce_nd("ReduceMin"),
    "reduceProd": _reduce_nd("ReduceProd"),
    "reduceSum": _reduce_nd("ReduceSum"),
    "reduceSumSquare": _reduce_nd("ReduceSumSquare"),
    "topK": _top_k,
}
