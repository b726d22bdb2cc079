"""Layers that move elements: shapes, parts, joins, copies."""

from __future__ import annotations

from collections.abc import Sequence

from ..network_call import Array, Layer, LayerHandler

_ALL = 2**31 - 1
"""An end past every dimension."""

_CHANNEL_LAST = 1


def _last(layer: Layer, x: Array) -> str:
    """Channels behind height and width."""
    front = list(range(x.rank - 3))
    return layer.node("Transpose", [x.name], perm=[*front, x.rank - 2, x.rank - 1, x.rank - 3])


def _reshape(layer: Layer) -> Array:
    """To channels x height x width, or with the sequence in front."""
    p, x = layer.params, layer.x
    _need_images(layer)
    shape = [int(n) for n in p.targetShape]
    shape = [0, *shape] if len(shape) == 3 else shape
    if p.mode != _CHANNEL_LAST:
        return Array(layer.reshaped(x.name, shape), 4)
    n, c, h, w = shape
    return Array(layer.node("Transpose", [layer.reshaped(_last(layer, x), [n, h, w, c])], perm=[0, 3, 1, 2]), 4)


def _need_images(layer: Layer) -> None:
    if layer.x.rank != 4:
        raise layer.unsupported(
            f"its operand has {layer.x.rank} dimensions; convert the model for a later specification"
        )


def _flatten(layer: Layer) -> Array:
    """To channels alone."""
    x = layer.x
    source = _last(layer, x) if layer.params.mode == _CHANNEL_LAST else x.name
    flat = layer.reshaped(source, [*[0] * (x.rank - 3), -1])
    return Array(layer.node("Unsqueeze", [flat, layer.integers([-2, -1])]), x.rank)


def _permute(layer: Layer) -> Array:
    """The order of sequence, channel, height and width."""
    axes = [int(n) for n in layer.params.axis]
    x = layer.x
    if x.rank == 5:  # the batch stays where it is
        moved = [0 if a == 0 else a + 1 for a in axes]
        return Array(layer.node("Transpose", [x.name], perm=[moved[0], 1, *moved[1:]]), 5)
    _need_images(layer)
    return Array(layer.node("Transpose", [x.name], perm=axes), 4)


def _concat(layer: Layer) -> Array:
    axis = 0 if layer.params.sequenceConcat else -3
    return Array(layer.node("Concat", [o.name for o in layer.operands], axis=axis), layer.x.rank)


def _split(layer: Layer) -> list[Array]:
    count = len(layer.layer.output)
    return [Array(n, layer.x.rank) for n in layer.nodes("Split", [layer.x.name], count, axis=-3, num_outputs=count)]


def _slice(layer: Layer) -> Array:
    p = layer.params
    numbers = ([p.startIndex], [p.endIndex], [p.axis - 3], [max(int(p.stride), 1)])
    return Array(layer.node("Slice", [layer.x.name, *map(layer.integers, numbers)]), layer.x.rank)


def _sequence_repeat(layer: Layer) -> Array:
    count = max(int(layer.params.nRepetitions), 1)
    return Array(layer.node("Tile", [layer.x.name, layer.integers([count] + [1] * (layer.x.rank - 1))]), layer.x.rank)


def _transpose(layer: Layer) -> Array:
    return Array(layer.node("Transpose", [layer.x.name], perm=[int(a) for a in layer.params.axes]), layer.x.rank)


def _squeeze(layer: Layer) -> Array:
    p, x = layer.params, layer.x
    if p.squeezeAll:
        raise layer.unsupported("it removes all dimensions of one element; convert the model with those to remove")
    axes = [int(a) for a in p.axes]
    rank = x.rank - len(axes)
    squeezed = layer.node("Squeeze", [x.name, layer.integers(axes)])
    # A vector of one element stays in the place of a scalar.
    return Array(squeezed, rank) if rank else Array(layer.reshaped(squeezed, [1]), 1)


def _expand_dims(layer: Layer) -> Array:
    axes = [int(a) for a in layer.params.axes]
    return Array(layer.node("Unsqueeze", [layer.x.name, layer.integers(axes)]), layer.x.rank + len(axes))


def _reshape_static(layer: Layer) -> Array:
    shape = [int(n) for n in layer.params.targetShape]
    return Array(layer.reshaped(layer.x.name, shape), len(shape))


def _rank_preserving(layer: Layer) -> Array:
    """0 keeps a dimension, -1 is what is left."""
    return Array(layer.reshaped(layer.x.name, [int(n) for n in layer.params.targetShape]), layer.x.rank)


def _like(op: str) -> LayerHandler:
    """In the shape of the second operand."""

    def convert(layer: Layer) -> Array:
        x, other = layer.operands
        return Array(layer.node(op, [x.name, layer.node("Shape", [other.name])]), other.rank)

    return convert


def _broadcast_static(layer: Layer) -> Array:
    shape = [int(n) for n in layer.params.targetShape]
    return Array(layer.node("Expand", [layer.x.name, layer.integers(shape)]), len(shape))


def _fill_like(layer: Layer) -> Array:
    filled = layer.node("Expand", [layer.number(layer.params.value), layer.node("Shape", [layer.x.name])])
    return Array(filled, layer.x.rank)


def _fill_static(layer: Layer) -> Array:
    shape = [int(n) for n in layer.params.targetShape]
    return Array(layer.node("Expand", [layer.number(layer.params.value), layer.integers(shape)]), len(shape))


def _range_static(layer: Layer) -> Array:
    p = layer.params
    step = p.stepSizeValue if p.HasField("stepSizeValue") else 1.0
    return Array(layer.node("Range", [layer.number(n) for n in (p.startValue, p.endValue, step)]), 1)


def _flatten_to_2d(layer: Layer) -> Array:
    return Array(layer.node("Flatten", [layer.x.name], axis=layer.params.axis), 2)


def _concat_nd(layer: Layer) -> Array:
    p, rank = layer.params, layer.x.rank
    names = [o.name for o in layer.operands]
    if not p.interleave:
        return Array(layer.node("Concat", names, axis=p.axis), rank)
    axis = p.axis % rank
    rows = [layer.node("Unsqueeze", [n, layer.integers([axis + 1])]) for n in names]
    joined = layer.node("Concat", rows, axis=axis + 1)
    shape = [
        layer.node("Shape", [joined], end=axis),
        layer.integers([-1]),
        layer.node("Shape", [joined], start=axis + 2),
    ]
    return Array(layer.node("Reshape", [joined, layer.node("Concat", shape, axis=0)]), rank)


def _split_nd(layer: Layer) -> list[Array]:
    p, count = layer.params, len(layer.layer.output)
    sizes = [layer.integers([int(n) for n in p.splitSizes])] if p.splitSizes else []
    attributes = {"axis": p.axis, **({} if sizes else {"num_outputs": count})}
    return [Array(n, layer.x.rank) for n in layer.nodes("Split", [layer.x.name, *sizes], count, **attributes)]


def _stack(layer: Layer) -> Array:
    axis, rank = layer.params.axis, layer.x.rank
    rows = [layer.node("Unsqueeze", [o.name, layer.integers([axis])]) for o in layer.operands]
    return Array(layer.node("Concat", rows, axis=axis), rank + 1)


def _slice_static(layer: Layer) -> Array:
    p, x = layer.params, layer.x
    axes = list(range(x.rank))
    squeezed = [i for i, is_squeezed in enumerate(p.squeezeMasks) if is_squeezed]

    def place(given: Sequence[int], masks: Sequence[bool], i: int, otherwise: int) -> int:
        return otherwise if i < len(masks) and masks[i] else int(given[i])

    steps = [1 if i in squeezed else int(p.strides[i]) for i in axes]
    begins = [place(p.beginIds, p.beginMasks, i, 0 if steps[i] > 0 else _ALL) for i in axes]
    ends = [place(p.endIds, p.endMasks, i, _ALL if steps[i] > 0 else -_ALL) for i in axes]
    for i in squeezed:
        ends[i] = begins[i] + 1 or _ALL
    result = layer.node("Slice", [x.name, *map(layer.integers, (begins, ends, axes, steps))])
    if not squeezed:
        return Array(result, x.rank)
    if len(squeezed) == x.rank:
        return Array(layer.reshaped(result, [1]), 1)
    return Array(layer.node("Squeeze", [result, layer.integers(squeezed)]), x.rank - len(squeezed))


def _slice_by_size(layer: Layer) -> Array:
    """From a place on that is the second operand."""
    p, (x, begin) = layer.params, layer.operands
    start = layer.reshaped(layer.places(begin), [1])
    end = layer.node("Add", [start, layer.integers([int(p.size)])])
    return Array(layer.node("Slice", [x.name, start, end, layer.integers([p.axis])]), x.rank)


def _tile(layer: Layer) -> Array:
    """The numbers are in the file, or the second operand."""
    operands = layer.operands
    reps = layer.places(operands[1]) if len(operands) > 1 else layer.integers([int(n) for n in layer.params.reps])
    return Array(layer.node("Tile", [operands[0].name, reps]), operands[0].rank)


def _reverse(layer: Layer) -> Array:
    axes = [i for i, is_reversed in enumerate(layer.params.reverseDim) if is_reversed]
    numbers = ([_ALL] * len(axes), [-_ALL] * len(axes), axes, [-1] * len(axes))
    return Array(layer.node("Slice", [layer.x.name, *map(layer.integers, numbers)]), layer.x.rank)


def _constant_pad(layer: Layer) -> Array:
    p = layer.params
    if p.padToGivenOutputSizeMode or len(layer.operands) > 1:
        raise layer.unsupported("it pads to a size; convert the model with amounts of padding")
    pads = [int(n) for n in p.padAmounts]
    both = layer.integers([*pads[::2], *pads[1::2]])
    return Array(layer.node("Pad", [layer.x.name, both, layer.number(p.value)]), layer.x.rank)


def _get_shape(layer: Layer) -> Array:
    return Array(layer.cast(layer.node("Shape", [layer.x.name])), 1)


def _band(layer: Layer) -> Array:
    """Parts of matrices along the diagonal; all on a side where its number is negative."""
    p, x = layer.params, layer.x.name
    if layer.kind == "matrixBandPart":
        x = layer.node("Trilu", [x, layer.integers(-p.numLower)], upper=1) if p.numLower >= 0 else x
        x = layer.node("Trilu", [x, layer.integers(p.numUpper)], upper=0) if p.numUpper >= 0 else x
        return Array(layer.node("Identity", [x]), layer.x.rank)
    return Array(
        layer.node("Trilu", [x, layer.integers(p.k)], upper=int(layer.kind == "upperTriangular")), layer.x.rank
    )


def _where_non_zero(layer: Layer) -> Array:
    return Array(layer.cast(layer.node("Transpose", [layer.node("NonZero", [layer.x.name])], perm=[1, 0])), 2)


LAYERS: dict[str, LayerHandler] = {
    "broadcastToLike": _like("Expand"),
    "broadcastToStatic": _broadcast_static,
    "concat": _concat,
    "concatND": _concat_nd,
    "constantPad": _constant_pad,
    "expandDims": _expand_dims,
    "fillLike": _fill_like,
    "fillStatic": _fill_static,
    "flatten": _flatten,
    "flattenTo2D": _flatten_to_2d,
    "getShape": _get_shape,
    "lowerTriangular": _band,
    "matrixBandPart": _band,
    "permute": _permute,
    "rangeStatic": _range_static,
    "rankPreservingReshape": _rank_preserving,
    "reshape": _reshape,
    "reshapeLike": _like("Reshape"),
    "reshapeStatic": _reshape_static,
    "reverse": _reverse,
    "sequenceRepeat": _sequence_repeat,
    "slice": _slice,
    "sliceBySize": _slice_by_size,
    "sliceStatic": _slice_static,
    "split": _split,
    "splitND": _split_nd,
    "squeeze": _squeeze,
    "stack": _stack,
    "tile": _tile,
    "transpose": _transpose,
    "upperTriangular": _band,
    "whereNonZero": _where_non_zero,
}
