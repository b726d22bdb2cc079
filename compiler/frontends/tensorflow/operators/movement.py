"""Operators that move elements."""

from __future__ import annotations

import onnx

from ...images import planar_axis
from ..call import Call, Handler
from ..values import Batched, Value


def _same(call: Call) -> Value:
    return call.operand(0)


def _all_same(call: Call) -> list[Value]:
    return list(call.operands)


def _reshape(call: Call) -> str:
    """An image of one pixel has its elements in the same places in both orders."""
    numbers = call.fact(1).numbers or ()
    rank = len(numbers)
    if rank > 2 and set(numbers[1:-1]) == {1}:
        order, known = [0, rank - 1, *range(1, rank - 1)], call.known(1)
        if known is not None:
            sizes = call.integers([int(known[d]) for d in order])
        else:
            sizes = call.node("Gather", [call.sizes(1), call.integers(order)], axis=0)
        return call.images.interleaved(call.node("Reshape", [call.read(0), sizes]), rank, call.stem)
    return call.node("Reshape", [call.read(0), call.sizes(1)])


def _squeeze(call: Call) -> Value:
    axes = call.numbers("squeeze_dims") or call.numbers("axis")
    image = call.operand(0)
    if isinstance(image, Batched) and axes == [-3] and len(image.block) == 2 and image.block[0] == 1:
        # One dimension, which was convolved as the second of two.
        return Batched(call.node("Squeeze", [image.value, call.integers(axes)]), image.block[1:], image.pads[1:])
    x = call.read(0)
    if x in call.images and axes:
        rank = call.images.rank(x)
        own = [planar_axis(a, rank) for a in axes]
        if min(own) > 1:
            inner = call.node("Squeeze", [call.images.planar(x, rank), call.integers(own)])
            return call.images.interleaved(inner, rank - len(own), call.stem)
    return call.node("Squeeze", [x, *([call.integers(axes)] if axes else [])])


def _expand_dims(call: Call) -> Value:
    image, axis = call.operand(0), call.listed(1, "the axis")
    if isinstance(image, Batched) and len(image.block) == 1 and axis in ([1], [-3]):
        return Batched(
            call.node("Unsqueeze", [image.value, call.integers([1])]), (1, *image.block), ((0, 0), *image.pads)
        )
    x = call.read(0)
    if x in call.images:
        rank = call.images.rank(x)
        own = planar_axis(axis[0], rank + 1)
        if own > 1:
            inner = call.node("Unsqueeze", [call.images.planar(x, rank), call.integers([own])])
            return call.images.interleaved(inner, rank + 1, call.stem)
    return call.node("Unsqueeze", [x, call.integers(axis)])


def _transpose(call: Call) -> str:
    return call.node("Transpose", [call.read(0)], perm=call.listed(1, "the order"))


def _concat_along(call: Call, values: list[str], axis: int) -> str:
    if all(v in call.images for v in values):
        return call.mapped("Concat", values, axis=axis % call.images.rank(values[0]))
    return call.node("Concat", values, axis=axis)


def _concat_v2(call: Call) -> str:
    count = len(call.operands) - 1
    return _concat_along(call, [call.read(i) for i in range(count)], call.listed(count, "the axis")[0])


def _concat(call: Call) -> str:
    values = [call.read(i) for i in range(1, len(call.operands))]
    return _concat_along(call, values, call.listed(0, "the axis")[0])


def _pack(call: Call) -> str:
    axis = call.integer("axis")
    wide = [call.node("Unsqueeze", [v, call.integers([axis])]) for v in call.reads()]
    return call.node("Concat", wide, axis=axis)


def _parts(call: Call, data: int, axis: int, count: int, sizes: list[str]) -> list[str]:
    value = call.read(data)
    if count == 1:
        return [call.node("Identity", [value])]
    even = {} if sizes else {"num_outputs": count}
    if value not in call.images:
        return call.nodes("Split", [value, *sizes], count, axis=axis, **even)
    rank = call.images.rank(value)
    inner = call.nodes("Split", [call.images.planar(value, rank), *sizes], count, axis=planar_axis(axis, rank), **even)
    return [call.images.interleaved(part, rank, call.stem) for part in inner]


def _unpack(call: Call) -> list[str]:
    axis, count = call.integer("axis"), call.integer("num")
    if not count:
        return []
    parts = _parts(call, 0, axis, count, [])
    return [call.node("Squeeze", [part, call.integers([axis])]) for part in parts]


def _split(call: Call) -> list[str]:
    return _parts(call, 1, call.listed(0, "the axis")[0], call.integer("num_split"), [])


def _split_v(call: Call) -> list[str]:
    """A size of -1 is what is left."""
    axis, sizes = call.listed(2, "the axis")[0], call.listed(1, "the sizes")
    if -1 in sizes:
        shape = call.shape(0)
        n = None if shape is None else shape[axis]
        if n is None:
            raise call.unsupported("the size -1 of a dimension that is free")
        sizes[sizes.index(-1)] = n - sum(s for s in sizes if s != -1)
    return _parts(call, 0, axis, len(sizes), [call.integers(sizes)])


def _pad(call: Call) -> str:
    x = call.read(0)
    value = call.scalar(2) if len(call.operands) > 2 else call.number_like(0, 0)
    data = call.known(1)
    if data is None:
        across = call.node("Transpose", [call.read(1)], perm=[1, 0])
        pads = call.node("Reshape", [call.cast(across, onnx.TensorProto.INT64), call.integers([-1])])
        return call.node("Pad", [x, pads, value])
    rank = len(data)
    if x in call.images:
        order = [0, rank - 1, *range(1, rank - 1)]
        inner = call.images.planar(x, rank)
        padded = call.node("Pad", [inner, call.integers([int(n) for n in data[order].T.reshape(-1)]), value])
        return call.images.interleaved(padded, rank, call.stem)
    return call.node("Pad", [x, call.integers([int(n) for n in data.T.reshape(-1)]), value])


def _mirror_pad(call: Call) -> str:
    """REFLECT leaves out the element at the border, SYMMETRIC repeats it: parts of the operand are reversed, and put
    before and behind it."""
    value, skipped = call.read(0), int(call.text("mode") != "SYMMETRIC")
    for axis, (before, after) in enumerate(call.constant(1, "the paddings").tolist()):

        def reversed_part(first: int, last: int, axis: int = axis, value: str = value) -> str:
            """Elements from `first` back to `last`."""
            operands = map(call.integers, ([first], [last], [axis], [-1]))
            return call.node("Slice", [value, *operands])

        parts = [value]
        if before:
            parts.insert(0, reversed_part(before - 1 + skipped, skipped - 1 if skipped else -(2**31)))
        if after:
            parts.append(reversed_part(-1 - skipped, -1 - skipped - after))
        value = call.node("Concat", parts, axis=axis) if len(parts) > 1 else value
    return value


def _tile(call: Call) -> str:
    return call.node("Tile", [call.read(0), call.sizes(1)])


def _reverse(call: Call) -> str:
    axes = call.listed(1, "the axes")
    if not axes:
        return call.read(0)
    ends = [-1] * len(axes), [-(2**31)] * len(axes), axes, [-1] * len(axes)
    return call.node("Slice", [call.read(0), *map(call.integers, ends)])


def _reverse_sequence(call: Call) -> str:
    attributes = {"time_axis": call.integer("seq_dim"), "batch_axis": call.integer("batch_dim")}
    return call.node("ReverseSequence", [call.read(0), call.sizes(1)], **attributes)


def _band_part(call: Call) -> str:
    """Keeps so many diagonals below the main one, and so many above it; all where a number is negative."""
    x = call.read(0)
    lower, upper = (int(call.constant(i, "a number of diagonals")) for i in (1, 2))
    x = call.node("Trilu", [x, call.integers(-lower)], upper=1) if lower >= 0 else x
    return call.node("Trilu", [x, call.integers(upper)], upper=0) if upper >= 0 else x


OPERATORS: dict[str, Handler] = {
    "CheckNumerics": _same,
    "Concat": _concat,
    "ConcatV2": _concat_v2,
    "EnsureShape": _same,
    "ExpandDims": _expand_dims,
    "Identity": _same,
    "IdentityN": _all_same,
    "MatrixBandPart": _band_part,
    "MirrorPad": _mirror_pad,
    "Pack": _pack,
    "Pad": _pad,
    "PadV2": _pad,
    "PlaceholderWithDefault": _same,
    "PreventGradient": _same,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "ReverseV2": _reverse,
    "Snapshot": _same,
    "Split": _split,
    "SplitV": _split_v,
    "Squeeze": _squeeze,
    "StopGradient": _same,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _unpack,
}
