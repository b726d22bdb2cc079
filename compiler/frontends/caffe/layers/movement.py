"""Layers that combine values element by element, join, cut, reorder and resize them, and reduce them.

Source: the layers of BVLC/caffe by these names; Permute is of its branch for SSD, Axpy, Interp, ShuffleChannel and
Upsample of others.
"""

from __future__ import annotations

from typing import Any

from onnx import TensorProto

from ...ranked_call import Axis, Value
from ..call import Call, Handler

_END = 2**31 - 1


def _eltwise(call: Call) -> Value:
    p = call.parameters("eltwise_param")
    values, coefficients = call.values, list(p.coeff)
    if coefficients and (len(coefficients) != len(values) or p.operation != 1):
        raise call.unsupported(f"{len(coefficients)} coefficients of {len(values)} operands")
    if coefficients:
        values = [call.scaled(v, c, 0) for v, c in zip(values, coefficients, strict=True)]
    result = call.x
    if p.operation == 0:
        for v in values[1:]:
            result = call.apply("Mul", result, v)
        return result
    return call.apply({1: "Sum", 2: "Max", 3: "Min"}[p.operation], *values)


def _concat(call: Call) -> Value:
    p = call.parameters("concat_param")
    axis = p.axis if p.HasField("axis") else p.concat_dim
    return call.apply("Concat", call.x, *call.values[1:], axis=call.axis(axis, call.x.rank))


def _slice(call: Call) -> list[Value]:
    p, x, count = call.parameters("slice_param"), call.x, len(call.layer.tops)
    axis = call.axis(p.axis if p.HasField("axis") else p.slice_dim, x.rank)
    points = [int(n) for n in p.slice_point]
    if not points:
        return [Value(n, x.rank) for n in call.nodes("Split", [x.name], count, axis=axis, num_outputs=count)]
    if len(points) != count - 1:
        raise call.unsupported(f"{len(points)} points between {count} results")
    ends = zip([0, *points], [*points, _END], strict=True)
    return [_cut(call, x, axis, first, call.integers([last])) for first, last in ends]


def _cut(call: Call, x: Value, axis: int, first: int, last: str) -> Value:
    return call.apply("Slice", x, call.integers([first]), last, call.integers([axis]))


def _crop(call: Call) -> Value:
    """To the extents of the second operand, from an axis on."""
    p, x = call.parameters("crop_param"), call.x
    axis, offsets = call.axis(p.axis, x.rank), [int(n) for n in p.offset] or [0]
    count = x.rank - axis
    offsets = offsets * count if len(offsets) == 1 else offsets
    if len(offsets) != count or call.value(1).rank != x.rank:
        raise call.unsupported(f"{len(offsets)} offsets for {count} axes")
    first = call.integers(offsets)
    last = call.node("Add", [call.sizes(call.value(1), axis, x.rank), first])
    return call.apply("Slice", x, first, last, call.integers(range(axis, x.rank)))


def _flatten(call: Call) -> Value:
    p, x = call.parameters("flatten_param"), call.x
    first, last = call.axis(p.axis, x.rank), call.axis(p.end_axis, x.rank)
    return call.reshaped(x, [*[0] * first, -1, *(Axis(i) for i in range(last + 1, x.rank))])


def _reshape(call: Call) -> Value:
    """Replaces a range of axes; an extent of 0 is that of the operand, in that range."""
    p, x = call.parameters("reshape_param"), call.x
    first = p.axis if p.axis >= 0 else x.rank + 1 + p.axis
    last = x.rank if p.num_axes == -1 else first + p.num_axes
    if not 0 <= first <= last <= x.rank:
        raise call.unsupported(f"the axes from {first} up to {last} of {x.rank} dimensions")
    return call.reshaped(x, [*[0] * first, *(int(d) for d in p.shape.dim), *(Axis(i) for i in range(last, x.rank))])


def _permute(call: Call) -> Value:
    order = [int(n) for n in call.parameters("permute_param").order]
    perm = order + [i for i in range(call.x.rank) if i not in order]
    return call.apply("Transpose", call.x, perm=perm)


def _tile(call: Call) -> Value:
    p, x = call.parameters("tile_param"), call.x
    repeats = [1] * x.rank
    repeats[call.axis(p.axis, x.rank)] = p.tiles
    return call.apply("Tile", x, call.integers(repeats))


def _reduction(call: Call) -> Value:
    """Over all axes from one on."""
    p, x = call.parameters("reduction_param"), call.x
    axis = call.axis(p.axis, x.rank)
    op = {1: "ReduceSum", 2: "ReduceL1", 3: "ReduceSumSquare", 4: "ReduceMean"}[p.operation]
    reduced = call.apply(op, x, call.integers(range(axis, x.rank)), rank=axis, keepdims=0)
    return call.scaled(reduced, p.coeff, 0)


def _arg_max(call: Call) -> Value:
    """The places of the largest elements along an axis, or of all but the first; or what they are, or both."""
    p, x, count = call.parameters("argmax_param"), call.x, int(call.parameters("argmax_param").top_k)
    has_axis = p.HasField("axis")
    axis = call.axis(p.axis, x.rank) if has_axis else 1
    rows = x if has_axis else call.apply("Flatten", x, axis=1, rank=2)
    if count == 1 and not p.out_max_val:
        index = call.apply("ArgMax", rows, axis=axis, select_last_index=1)
        found = call.apply("Cast", index, to=TensorProto.FLOAT)
        return found if has_axis else call.apply("Unsqueeze", found, call.integers([1]), rank=3)
    top, at = call.nodes("TopK", [rows.name, call.integers([count])], 2, axis=axis)
    values, index = Value(top, rows.rank), call.apply("Cast", Value(at, rows.rank), to=TensorProto.FLOAT)
    if has_axis:
        return values if p.out_max_val else index
    parts = [call.apply("Unsqueeze", v, call.integers([1]), rank=3) for v in (index, values)]
    return call.apply("Concat", *parts, axis=1) if p.out_max_val else parts[0]


def _axpy(call: Call) -> Value:
    """A factor for each channel, times a value, plus another."""
    factor = call.x
    if factor.rank == 2:
        factor = call.apply("Unsqueeze", factor, call.integers([2, 3]), rank=4)
    return call.apply("Add", call.apply("Mul", call.value(1), factor), call.value(2))


def _shuffle(call: Call) -> Value:
    x, groups = call.x, call.parameters("shuffle_channel_param").group
    split = call.reshaped(x, [0, groups, -1, Axis(2), Axis(3)])
    swapped = call.apply("Transpose", split, perm=[0, 2, 1, 3, 4])
    return call.reshaped(swapped, [0, -1, Axis(3), Axis(4)])


def _upsample(call: Call) -> Value:
    p = call.parameters("upsample_param")
    if len(call.values) > 1:
        raise call.unsupported("places of maxima as a second operand")
    nearest: dict[str, Any] = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    if p.upsample_h and p.upsample_w:
        return call.resized(call.x, call.integers([p.upsample_h, p.upsample_w]), **nearest)
    scales = [call.number(s) for s in (1.0, 1.0, p.scale, p.scale)]
    vector = call.node("Concat", [call.node("Unsqueeze", [s, call.integers([0])]) for s in scales], axis=0)
    return call.apply("Resize", call.x, "", vector, **nearest)


def _interp(call: Call) -> Value:
    """Linear, corners to corners; first cut by the padding, which is negative."""
    p, x = call.parameters("interp_param"), call.x
    if p.pad_beg > 0 or p.pad_end > 0:
        raise call.unsupported("padding above zero")
    if p.pad_beg or p.pad_end:
        pads = [call.integers([n, n]) for n in (-p.pad_beg, p.pad_end or _END)]
        x = call.apply("Slice", x, *pads, call.integers([2, 3]))
    if len(call.values) > 1:
        target = call.sizes(call.value(1), 2, 4)
    elif p.height > 0 and p.width > 0:
        target = call.integers([p.height, p.width])
    else:
        if p.shrink_factor < 1 or p.zoom_factor < 1:
            raise call.unsupported(f"the factors {p.shrink_factor} and {p.zoom_factor}")
        steps = call.node("Sub", [call.sizes(x, 2, 4), call.integers(1)])
        steps = call.node("Div", [steps, call.integers(p.shrink_factor)])
        steps = call.node("Mul", [steps, call.integers(p.zoom_factor)])
        target = call.node("Add", [steps, call.integers(1)])
    return call.resized(x, target, mode="linear", coordinate_transformation_mode="align_corners")


LAYERS: dict[str, Handler] = {
    "ArgMax": _arg_max,
    "Axpy": _axpy,
    "Concat": _concat,
    "Crop": _crop,
    "Eltwise": _eltwise,
    "Flatten": _flatten,
    "Interp": _interp,
    "Permute": _permute,
    "Reduction": _reduction,
    "Reshape": _reshape,
    "ShuffleChannel": _shuffle,
    "Slice": _slice,
    "Tile": _tile,
    "Upsample": _upsample,
}
