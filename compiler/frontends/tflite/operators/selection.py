"""Sorting, searching and writing to places that a run computes."""

from __future__ import annotations

import numpy as np

from ...suppressed_boxes import padded, suppressed
from ..call import Call, Handler
from ..types import onnx_type
from .moved import sizes_of


def _topk(call: Call) -> None:
    count = call.node("Reshape", [call.node("Cast", [call.raw(1)], to=onnx_type("int64")), call.integers([1])])
    values, indices = call.nodes("TopK", [call.raw(0), count], 2, axis=-1)
    call.store(values)
    call.store(call.node("Cast", [indices], to=onnx_type(call.result(1).dtype)), 1)


def _where(call: Call) -> None:
    """The places of what is true, a row for each."""
    found = call.node("Transpose", [call.node("NonZero", [call.raw(0)])], perm=[1, 0])
    call.store(call.cast(found, call.result().dtype))


def _one_hot(call: Call) -> None:
    """Leaves all off for an index that is negative, where ONNX counts from the end."""
    values = [call.node("Reshape", [call.raw(i), call.integers([1])]) for i in (3, 2)]
    pair = call.node("Concat", values, axis=0)
    depth = call.node("Cast", [call.raw(1)], to=onnx_type(call.tensor(0).dtype))
    below = call.node("Less", [call.raw(0), call.number(0, call.tensor(0).dtype)])
    indices = call.node("Where", [below, depth, call.raw(0)])
    call.store(call.node("OneHot", [indices, call.raw(1), pair], axis=call.options.Axis()))


def _bucketize(call: Call) -> None:
    """How many boundaries are not above an element: all of them, where it is no number."""
    o = call.options
    dtype = "float64" if call.tensor(0).dtype == "float64" else "float32"
    boundaries = np.asarray(o.BoundariesAsNumpy() if o.BoundariesLength() else [], dtype)
    wide = call.node("Unsqueeze", [call.cast(call.read(0), dtype), call.integers([-1])])
    below = call.node("Less", [wide, call.builder.constant(boundaries, "boundaries")])
    reached = call.node("Not", [below])
    call.store(call.node("ReduceSum", [call.cast(reached, "int32"), call.integers([-1])], keepdims=0))


def _unique(call: Call) -> None:
    """Elements in the order in which they come first, and of each element its place among these."""
    values, _, places, _ = call.nodes("Unique", [call.raw(0)], 4, sorted=0)
    call.store(values)
    call.store(call.cast(places, call.result(1).dtype), 1)


def _sparse_to_dense(call: Call) -> None:
    """Values, or one for all, at the places; the default elsewhere."""
    shape = sizes_of(call, 1)
    indices, values, rank = call.cast(call.raw(0), "int64"), call.raw(2), len(call.shape(0))
    if rank < 2:  # of a vector
        indices = call.node("Reshape", [indices, call.integers([-1, 1])])
    count = call.shape(0)[0] if rank else 1
    values = call.node("Expand", [values, call.integers([count])])
    call.store(call.node("ScatterND", [call.node("Expand", [call.raw(3), shape]), indices, values]))


def _scatter_nd(call: Call) -> None:
    """Into zeros; updates of one place are added."""
    shape = call.node("Cast", [call.raw(2)], to=onnx_type("int64"))
    zeros = call.node("Expand", [call.number(0, call.result().dtype), shape])
    indices = call.node("Cast", [call.raw(0)], to=onnx_type("int64"))
    call.store(call.node("ScatterND", [zeros, indices, call.raw(1)], reduction="add"))


def _non_max_suppression(call: Call) -> None:
    """Places of boxes, in version 5 their scores, and how many there are; zeros follow them."""
    with_scores = len(call.operator.outputs) == 3
    if with_scores and np.any(call.constant(5, "soft_nms_sigma") != 0):
        raise call.unsupported("scores of boxes that overlap are lowered (soft_nms_sigma)")
    most = call.node("Reshape", [call.node("Cast", [call.raw(2)], to=onnx_type("int64")), call.integers([1])])
    scores = call.read(1)
    found = suppressed(call, call.read(0), scores, most, [call.read(3), call.read(4)])
    last = len(call.operator.outputs) - 1
    call.store(padded(call, call.node("Cast", [found], to=onnx_type("int32")), most, call.number(0, "int32")))
    if with_scores:
        chosen = call.node("Gather", [scores, found], axis=0)
        call.store(padded(call, chosen, most, call.number(0)), 1)
    call.store(call.node("Cast", [call.node("Size", [found])], to=onnx_type("int32")), last)


OPERATORS: dict[str, Handler] = {
    "BUCKETIZE": _bucketize,
    "NON_MAX_SUPPRESSION_V4": _non_max_suppression,
    "NON_MAX_SUPPRESSION_V5": _non_max_suppression,
    "ONE_HOT": _one_hot,
    "SCATTER_ND": _scatter_nd,
    "SPARSE_TO_DENSE": _sparse_to_dense,
    "TOPK_V2": _topk,
    "UNIQUE": _unique,
    "WHERE": _where,
}
