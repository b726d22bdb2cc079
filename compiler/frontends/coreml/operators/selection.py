"""Operations that read and write elements by places, and select the largest."""

from __future__ import annotations

import numpy as np

from ..call import Call, Handler
from ..scattering import Scatter
from ..suppression import suppressed
from ..types import real_type


def _gather(call: Call) -> str:
    rank, axis, batch = call.rank(), call.integer("axis", 0), call.integer("batch_dims", 0)
    axis %= rank
    if batch == 0:
        return call.node("Gather", [call.read("x"), call.read("indices", "int32")], axis=axis)
    batch += call.rank("indices") if batch < 0 else 0
    if batch != axis:
        raise call.unsupported(f"it gathers on dimension {axis} with {batch} dimensions of batches")
    places = call.node("Unsqueeze", [call.read("indices", "int64"), call.integers([-1])])
    return call.node("GatherND", [call.read("x"), places], batch_dims=batch)


def _gather_along_axis(call: Call) -> str:
    return call.node("GatherElements", [call.read("x"), call.read("indices", "int64")], axis=call.integer("axis", 0))


def _gather_nd(call: Call) -> str:
    return call.node(
        "GatherND", [call.read("x"), call.read("indices", "int64")], batch_dims=call.integer("batch_dims", 0)
    )


def _scatter_of(call: Call) -> Scatter:
    updates = call.read("updates", real_type(call.value("data").dtype))
    places, mode = call.read("indices", "int64"), call.text("mode", "add")
    return Scatter(call, call.read("data"), call.rank("data"), places, updates, mode)


def _scatter_nd(call: Call) -> str:
    return _scatter_of(call).at_places()


def _scatter_along_axis(call: Call) -> str:
    return _scatter_of(call).along(call.integer("axis", 0))


def _scatter(call: Call) -> str:
    return _scatter_of(call).slices(call.integer("axis", 0), call.rank("indices"))


def _one_hot(call: Call) -> str:
    values = np.array([call.real("off_value", 0), call.real("on_value", 1)], np.float32)
    depth = call.read("one_hot_vector_size", "int64")
    operands = [call.read("indices", "int64"), depth, call.builder.constant(values, "values")]
    return call.as_result(call.node("OneHot", operands, axis=call.integer("axis", -1)))


def _topk(call: Call) -> list[str]:
    count = call.node("Reshape", [call.read("k", "int64"), call.integers([1])]) if call.has("k") else call.integers([1])
    values, places = _ordered(call, count, call.flag("ascending"))
    outputs = len(call.operation.outputs)
    return [values] if outputs == 1 else [values, call.as_result(places, 1)]


def _ordered(call: Call, count: str, ascending: bool) -> list[str]:
    attributes = {"axis": call.integer("axis", -1), "largest": int(not ascending)}
    return call.nodes("TopK", [call.read("x"), count], 2, **attributes)


def _argsort(call: Call) -> str:
    axis = call.integer("axis", -1) % call.rank()
    shape = call.node("Shape", [call.read("x")])
    count = call.node("Slice", [shape, call.integers([axis]), call.integers([axis + 1])])
    return call.as_result(_ordered(call, count, call.flag("ascending"))[1])


def _non_zero(call: Call) -> str:
    return call.as_result(call.node("Transpose", [call.node("NonZero", [call.read("x")])], perm=[1, 0]))


def _non_maximum_suppression(call: Call) -> list[str]:
    if call.shape("boxes")[0] != 1:
        raise call.unsupported("its batch is not 1")
    least = call.real("score_threshold", -1e38)
    most, per_class = call.integer("max_boxes"), call.flag("per_class_suppression")
    operands = call.read("boxes"), call.read("scores")
    *rows, places, count = suppressed(call, *operands, call.real("iou_threshold"), least, most, per_class)
    return [*rows, call.as_result(places, 2), call.as_result(count, 3)]


OPERATORS: dict[str, Handler] = {
    "argsort": _argsort,
    "gather": _gather,
    "gather_along_axis": _gather_along_axis,
    "gather_nd": _gather_nd,
    "non_maximum_suppression": _non_maximum_suppression,
    "non_zero": _non_zero,
    "one_hot": _one_hot,
    "scatter": _scatter,
    "scatter_along_axis": _scatter_along_axis,
    "scatter_nd": _scatter_nd,
    "topk": _topk,
}
