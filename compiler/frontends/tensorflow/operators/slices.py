"""Parts of tensors by their places, and values put into places."""

from __future__ import annotations

import onnx

from ...operators.strided_slice import Bounds, Masks, strided_slice
from ..call import Call, Handler
from .shapes import read_variable

_INT64 = onnx.TensorProto.INT64
_LAST = 2**31 - 1


def _slice(call: Call) -> str:
    """A size of -1 is all that is left."""
    rank = call.shape(1)
    axes = call.integers(list(range(rank[0]))) if rank and rank[0] is not None else None
    begin, sizes = call.known(1), call.known(2)
    if begin is not None and sizes is not None:
        ends = [_LAST if n < 0 else b + n for b, n in zip(begin.tolist(), sizes.tolist(), strict=True)]
        starts, end = call.integers(begin.tolist()), call.integers(ends)
    else:
        starts, counts = call.sizes(1), call.sizes(2)
        left = call.node("Less", [counts, call.integers(0)])
        end = call.node("Where", [left, call.integers(_LAST), call.node("Add", [starts, counts])])
    return call.node("Slice", [call.read(0), starts, end, *([axes] if axes else [])])


def _strided_slice(call: Call) -> str:
    strides = call.listed(3, "the strides")
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    masks = Masks(*(call.integer(f"{name}_mask") for name in names))

    def bounds(i: int) -> Bounds:
        data = call.known(i)
        return call.sizes(i) if data is None else [int(n) for n in data.reshape(-1)]

    x = call.read(0)
    if (
        x in call.images
        and len(strides) == call.images.rank(x)
        and not (masks.ellipsis or masks.new_axis or masks.shrink_axis)
    ):
        return _cropped(call, x, (bounds(1), bounds(2), strides), masks)
    try:
        return strided_slice(call, x, bounds(1), bounds(2), strides, masks)
    except ValueError as error:
        raise call.unsupported(str(error)) from None


def _cropped(call: Call, x: str, bounds: tuple[Bounds, Bounds, list[int]], masks: Masks) -> str:
    """A slice of an image in the order N, C, ..."""
    rank = call.images.rank(x)
    order = [0, rank - 1, *range(1, rank - 1)]

    def planar(numbers: Bounds) -> Bounds:
        if isinstance(numbers, str):
            return call.node("Gather", [numbers, call.integers(order)], axis=0)
        return [numbers[d] for d in order]

    def bits(mask: int) -> int:
        return sum((mask >> d & 1) << at for at, d in enumerate(order))

    begin, end, strides = bounds
    own = Masks(bits(masks.begin), bits(masks.end))
    steps = [strides[d] for d in order]
    inner = strided_slice(call, call.images.planar(x, rank), planar(begin), planar(end), steps, own)
    return call.images.interleaved(inner, rank, call.stem)


def _gathered(call: Call, axis: int, batch: int) -> str:
    """As many batch dimensions as the axis is deep are those of GatherND."""
    if not batch:
        return call.node("Gather", [call.read(0), call.read(1)], axis=axis)
    axis %= call.rank(0)
    if batch < 0:
        batch += call.rank(1)
    if axis != batch:
        raise call.unsupported(f"the axis {axis} with {batch} batch dimensions")
    wide = call.node("Unsqueeze", [call.cast(call.read(1), _INT64), call.integers([-1])])
    return call.node("GatherND", [call.read(0), wide], batch_dims=batch)


def _gather(call: Call) -> str:
    return _gathered(call, 0, call.integer("batch_dims"))


def _gather_v2(call: Call) -> str:
    return _gathered(call, call.listed(2, "the axis")[0], call.integer("batch_dims"))


def _gather_nd(call: Call) -> str:
    return call.node("GatherND", [call.read(0), call.cast(call.read(1), _INT64)])


def _resource_gather(call: Call) -> str:
    """Rows of a variable."""
    call.operands[0] = read_variable(call)
    return _gathered(call, call.integer("batch_dims"), call.integer("batch_dims"))


def _one_hot(call: Call) -> str:
    """Leaves all off for an index that is negative, where ONNX counts from the end."""
    values = [call.node("Reshape", [call.read(i), call.integers([1])]) for i in (3, 2)]
    pair = call.node("Concat", values, axis=0)
    indices = call.cast(call.read(0), _INT64)
    depth = call.scalar(1, _INT64)
    below = call.node("Less", [indices, call.integers(0)])
    inside = call.node("Where", [below, depth, indices])
    return call.node("OneHot", [inside, depth, pair], axis=call.integer("axis", -1))


def _scatter_nd(call: Call) -> str:
    """Into zeros; updates of one place are added."""
    zeros = call.node("Expand", [call.number_like(0, 1), call.sizes(2)])
    indices = call.cast(call.read(0), _INT64)
    return call.node("ScatterND", [zeros, indices, call.read(1)], reduction="add")


def _tensor_scatter(reduction: str) -> Handler:
    def convert(call: Call) -> str:
        operands = [call.read(0), call.cast(call.read(1), _INT64), call.read(2)]
        return call.node("ScatterND", operands, reduction=reduction)

    return convert


OPERATORS: dict[str, Handler] = {
    "Gather": _gather,
    "GatherNd": _gather_nd,
    "GatherV2": _gather_v2,
    "OneHot": _one_hot,
    "ResourceGather": _resource_gather,
    "ScatterNd": _scatter_nd,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "TensorScatterAdd": _tensor_scatter("add"),
    "TensorScatterMax": _tensor_scatter("max"),
    "TensorScatterMin": _tensor_scatter("min"),
    "TensorScatterUpdate": _tensor_scatter("none"),
}
