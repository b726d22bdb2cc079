"""Operations that move elements: shapes, parts, joins, copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..call import Call, Handler
from ..types import real_type

_ALL = 2**31 - 1
"""An end past every dimension."""


def int64(call: Call, name: str) -> str:
    """An argument that is a shape or places, as ONNX takes it."""
    return call.integers(call.ints(name)) if call.is_constant(name) else call.read(name, "int64")


def _reshape(call: Call) -> str:
    """0 keeps a dimension, -1 is what is left."""
    return call.node("Reshape", [call.read("x"), int64(call, "shape")])


def _reshape_like(call: Call) -> str:
    """Parts of the shapes of other tensors, one after the other."""

    def every(name: str) -> list[int]:
        """One number for each tensor, each a value of its own."""
        return [int(n) for value in call.values(name) for n in np.reshape(value.data, -1)]

    numbers = zip(call.values("ref_tensors"), every("begins"), every("ends"), every("end_masks"), strict=True)
    parts = []
    for value, begin, end, mask in numbers:
        shape = call.node("Shape", [call.add(value)])
        parts.append(call.node("Slice", [shape, call.integers([begin]), call.integers([_ALL if mask else end])]))
    return call.node("Reshape", [call.read("x"), call.node("Concat", parts, axis=0)])


def _transpose(call: Call) -> str:
    rank = call.rank()
    return call.node("Transpose", [call.read("x")], perm=[p % rank for p in call.ints("perm")])


def _squeeze(call: Call) -> str:
    axes = [call.integers(call.ints("axes"))] if call.has("axes") else []
    return call.node("Squeeze", [call.read("x"), *axes])


def _expand_dims(call: Call) -> str:
    return call.node("Unsqueeze", [call.read("x"), call.integers(call.ints("axes"))])


def _flatten2d(call: Call) -> str:
    return call.node("Flatten", [call.read("x")], axis=call.integer("axis", 1))


def _all_of(call: Call) -> list[str]:
    dtype = real_type(call.result().dtype)
    return [call.add(v, dtype) for v in call.values("values")]


def _concat(call: Call) -> str:
    values, axis = _all_of(call), call.integer("axis")
    if not call.flag("interleave"):
        return call.node("Concat", values, axis=axis)
    axis %= len(call.result().shape)
    rows = [call.node("Unsqueeze", [v, call.integers([axis + 1])]) for v in values]
    return call.reshaped(call.node("Concat", rows, axis=axis + 1), call.result().shape)


def _stack(call: Call) -> str:
    axis = call.integer("axis")
    rows = [call.node("Unsqueeze", [v, call.integers([axis])]) for v in _all_of(call)]
    return call.node("Concat", rows, axis=axis)


def _split(call: Call) -> list[str]:
    count, axis = len(call.operation.outputs), call.integer("axis")
    if call.has("split_sizes"):
        return call.nodes("Split", [call.read("x"), call.integers(call.ints("split_sizes"))], count, axis=axis)
    return call.nodes("Split", [call.read("x")], count, axis=axis, num_outputs=count)


def _places(call: Call, name: str, axes: Sequence[int], masked: Sequence[bool], otherwise: Sequence[int]) -> str:
    """The begins or ends of a slice on the axes given; where a mask is set, `otherwise`."""
    if call.is_constant(name):
        given = call.ints(name)
        return call.integers([otherwise[i] if masked[i] else given[i] for i in axes])
    chosen = call.node("Gather", [call.read(name, "int64"), call.integers(list(axes))], axis=0)
    if not any(masked[i] for i in axes):
        return chosen
    mask = call.builder.constant(np.array([masked[i] for i in axes]), "mask")
    return call.node("Where", [mask, call.integers([otherwise[i] for i in axes]), chosen])


def _slice_by_index(call: Call) -> str:
    rank = call.rank()
    masks = {
        name: [bool(b) for b in np.reshape(call.constant(name, np.zeros(rank, bool)), -1)]
        for name in ("begin_mask", "end_mask", "squeeze_mask")
    }
    steps = call.ints("stride", [1] * rank)
    squeezed = [i for i in range(rank) if masks["squeeze_mask"][i]]
    kept = [i for i in range(rank) if i not in squeezed]
    x = call.read("x")
    if kept:
        first = [0 if s > 0 else _ALL for s in steps]
        last = [_ALL if s > 0 else -_ALL for s in steps]
        begins = _places(call, "begin", kept, masks["begin_mask"], first)
        ends = _places(call, "end", kept, masks["end_mask"], last)
        x = call.node("Slice", [x, begins, ends, call.integers(kept), call.integers([steps[i] for i in kept])])
    for i in reversed(squeezed):
        place = call.node("Squeeze", [_places(call, "begin", [i], masks["begin_mask"], [0] * rank), call.integers([0])])
        x = call.node("Gather", [x, place], axis=i)
    return x


def _slice_update(call: Call) -> str:
    """Elements of a slice are replaced, at places that are computed here."""
    rank, shape = call.rank(), [n or 0 for n in call.shape()]
    if None in call.shape():
        raise call.unsupported("the size of its operand is free; convert the model with fixed shapes")
    masks = {
        n: np.reshape(call.constant(n, np.zeros(rank, bool)), -1) for n in ("begin_mask", "end_mask", "squeeze_mask")
    }
    begins, ends, steps = call.ints("begin"), call.ints("end"), call.ints("stride", [1] * rank)
    part = tuple(
        begins[i]
        if masks["squeeze_mask"][i]
        else slice(None if masks["begin_mask"][i] else begins[i], None if masks["end_mask"][i] else ends[i], steps[i])
        for i in range(rank)
    )
    places = np.arange(prod(shape), dtype=np.int64).reshape(shape)[part].reshape(-1)
    rows = [call.node("Reshape", [call.read(n), call.integers([-1])]) for n in ("x", "update")]
    flat = call.node("ScatterElements", [rows[0], call.builder.constant(places, "places"), rows[1]], axis=0)
    return call.reshaped(flat, shape)


def _slice_by_size(call: Call) -> str:
    """A size of -1 takes all that is left."""
    axes = call.integers(list(range(call.rank())))
    begin = int64(call, "begin")
    if call.is_constant("size"):
        sizes = call.ints("size")
        if call.is_constant("begin"):
            ends = [_ALL if n < 0 else b + n for b, n in zip(call.ints("begin"), sizes, strict=True)]
            return call.node("Slice", [call.read("x"), begin, call.integers(ends), axes])
        end = call.node("Add", [begin, call.integers([_ALL if n < 0 else n for n in sizes])])
    else:
        size = call.read("size", "int64")
        is_rest = call.node("Less", [size, call.integers([0])])
        end = call.node("Where", [is_rest, call.integers([_ALL]), call.node("Add", [begin, size])])
    return call.node("Slice", [call.read("x"), begin, end, axes])


_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}


def _pad(call: Call) -> str:
    """The last dimensions, begin and end of each side by side."""
    mode = call.text("mode", "constant")
    if mode not in _MODES:
        raise call.unsupported(f"the mode {mode!r}")
    dtype = real_type(call.value("x").dtype)
    value = [call.number(call.real("constant_val", 0.0), dtype)] if mode == "constant" else []
    if call.is_constant("pad"):
        pads = call.ints("pad")
        count = len(pads) // 2
        axes = call.integers(list(range(call.rank() - count, call.rank())))
        both = call.integers([*pads[::2], *pads[1::2]])
        return call.node("Pad", [call.read("x"), both, *(value or [""]), axes], mode=_MODES[mode])
    pairs = call.node("Reshape", [call.read("pad", "int64"), call.integers([-1, 2])])
    both = call.node("Reshape", [call.node("Transpose", [pairs], perm=[1, 0]), call.integers([-1])])
    return call.node("Pad", [call.read("x"), both, *value], mode=_MODES[mode])


def _tile(call: Call) -> str:
    return call.node("Tile", [call.read("x"), int64(call, "reps")])


def _reverse(call: Call) -> str:
    axes = call.ints("axes", list(range(call.rank())))
    starts, ends, steps = ([n] * len(axes) for n in (_ALL, -_ALL, -1))
    return call.node("Slice", [call.read("x"), *map(call.integers, (starts, ends, axes, steps))])


def _reverse_sequence(call: Call) -> str:
    """ONNX has the batch and the steps in the first two dimensions."""
    rank = call.rank()
    batch, time = call.integer("batch_axis", 0) % rank, call.integer("seq_axis", 0) % rank
    perm = [batch, time, *(i for i in range(rank) if i not in (batch, time))]
    x = call.node("Transpose", [call.read("x")], perm=perm)
    reversed_ = call.node("ReverseSequence", [x, int64(call, "lengths")], batch_axis=0, time_axis=1)
    return call.node("Transpose", [reversed_], perm=[perm.index(i) for i in range(rank)])


def _shape(call: Call) -> str:
    return call.as_result(call.node("Shape", [call.read("x")]))


def _fill(call: Call) -> str:
    value = call.number(call.real("value", 0.0), real_type(call.result().dtype))
    return call.node("Expand", [value, int64(call, "shape")])


def _fill_like(call: Call) -> str:
    value = call.number(call.real("value", 0.0), real_type(call.result().dtype))
    return call.node("Expand", [value, call.node("Shape", [call.read("ref_tensor")])])


def _range_1d(call: Call) -> str:
    dtype = real_type(call.result().dtype)
    scalars = [call.node("Reshape", [call.read(n, dtype), call.integers([])]) for n in ("start", "end", "step")]
    return call.node("Range", scalars)


def _band_part(call: Call) -> str:
    """Keeps `lower` diagonals below the main one and `upper` above it; all where a number is negative."""
    x, lower, upper = call.read("x"), call.integer("lower", -1), call.integer("upper", -1)
    x = call.node("Trilu", [x, call.integers(-lower)], upper=1) if lower >= 0 else x
    x = call.node("Trilu", [x, call.integers(upper)], upper=0) if upper >= 0 else x
    return call.node("Identity", [x]) if lower < 0 and upper < 0 else x


def _sliding_windows(call: Call) -> str:
    axis, size, stride = call.integer("axis") % call.rank(), call.integer("size"), call.integer("stride", 1)
    length = call.shape()[axis]
    if length is None:
        raise call.unsupported("the size of the axis is free; convert the model with fixed shapes")
    starts = np.arange(0, length - size + 1, stride)
    return call.node(
        "Gather", [call.read("x"), call.builder.constant(starts[:, None] + np.arange(size), "places")], axis=axis
    )


OPERATORS: dict[str, Handler] = {
    "band_part": _band_part,
    "concat": _concat,
    "expand_dims": _expand_dims,
    "fill": _fill,
    "fill_like": _fill_like,
    "flatten2d": _flatten2d,
    "pad": _pad,
    "range_1d": _range_1d,
    "reshape": _reshape,
    "reshape_like": _reshape_like,
    "reverse": _reverse,
    "reverse_sequence": _reverse_sequence,
    "shape": _shape,
    "slice_by_index": _slice_by_index,
    "slice_by_size": _slice_by_size,
    "slice_update": _slice_update,
    "sliding_windows": _sliding_windows,
    "split": _split,
    "squeeze": _squeeze,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
}
