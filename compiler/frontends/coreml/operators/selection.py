"""Operations that read and write elements by places, and select the largest."""

from __future__ import annotations

import numpy as np

from ..call import Call, Handler
from ..types import real_type

_REDUCTIONS = {"add": "add", "max": "max", "min": "min", "mul": "mul", "update": "none", "sub": "add", "div": "mul"}


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


def _updates(call: Call) -> tuple[str, str]:
    """The updates, and ONNX's reduction: to subtract is to add what is negative."""
    mode = call.text("mode", "add")
    if mode not in _REDUCTIONS:
        raise call.unsupported(f"the mode {mode!r}")
    updates = call.read("updates", real_type(call.value("data").dtype))
    if mode == "sub":
        updates = call.node("Neg", [updates])
    elif mode == "div":
        updates = call.node("Reciprocal", [updates])
    return updates, _REDUCTIONS[mode]


def _scatter_nd(call: Call) -> str:
    updates, reduction = _updates(call)
    return call.node("ScatterND", [call.read("data"), call.read("indices", "int64"), updates], reduction=reduction)


def _scatter_along_axis(call: Call) -> str:
    updates, reduction = _updates(call)
    operands = [call.read("data"), call.read("indices", "int64"), updates]
    return call.node("ScatterElements", operands, axis=call.integer("axis", 0), reduction=reduction)


def _scatter(call: Call) -> str:
    """Whole slices along an axis, which stands first in ONNX; the updates have the dimensions of the indices there."""
    updates, reduction = _updates(call)
    rank, width = call.rank("data"), call.rank("indices")
    axis = call.integer("axis", 0) % rank
    places = call.node("Unsqueeze", [call.read("indices", "int64"), call.integers([-1])])
    front = [axis, *range(axis), *range(axis + 1, rank)]
    data = call.node("Transpose", [call.read("data")], perm=front)
    moved = list(range(axis, axis + width))
    wide = rank - 1 + width
    updates = call.node("Transpose", [updates], perm=[*moved, *(i for i in range(wide) if i not in moved)])
    result = call.node("ScatterND", [data, places, updates], reduction=reduction)
    return call.node("Transpose", [result], perm=[front.index(i) for i in range(rank)])


def _one_hot(call: Call) -> str:
    dtype = real_type(call.result().dtype)
    values = np.array([call.real("off_value", 0), call.real("on_value", 1)], dtype)
    depth = call.read("one_hot_vector_size", "int64")
    operands = [call.read("indices"), depth, call.builder.constant(values, "values")]
    return call.node("OneHot", operands, axis=call.integer("axis", -1))


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


OPERATORS: dict[str, Handler] = {
    "argsort": _argsort,
    "gather": _gather,
    "gather_along_axis": _gather_along_axis,
    "gather_nd": _gather_nd,
    "non_zero": _non_zero,
    "one_hot": _one_hot,
    "scatter": _scatter,
    "scatter_along_axis": _scatter_along_axis,
    "scatter_nd": _scatter_nd,
    "topk": _topk,
}
