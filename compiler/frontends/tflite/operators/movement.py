"""Operators that move elements: quantised ones move as they are where the result has the same quanta."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...operators.images import batch_to_space, space_to_batch
from ...operators.sizes import broadcast_args
from ...operators.strided_slice import Bounds, Masks, strided_slice
from ..call import Call, Handler
from ..read_model import Tensor
from ..types import onnx_type
from .moved import moved, same_quanta, sizes_of


def _reshape(call: Call) -> None:
    if call.has(1):
        shape = sizes_of(call, 1)
    elif call.operator.options is not None and call.options.NewShapeLength():
        shape = call.integers([int(n) for n in call.options.NewShapeAsNumpy()])
    else:
        shape = call.integers(call.result().shape)
    moved(call, lambda d: call.node("Reshape", [*d, shape]), 0)


def _squeeze(call: Call) -> None:
    axes = [int(a) for a in call.options.SqueezeDimsAsNumpy()] if call.options.SqueezeDimsLength() else []
    axes = axes or [i for i, n in enumerate(call.shape(0)) if n == 1]
    moved(call, lambda d: call.node("Squeeze", [*d, call.integers(axes)]), 0)


def _expand_dims(call: Call) -> None:
    axis = [int(n) for n in call.constant(1, "the axis").reshape(-1)]
    moved(call, lambda d: call.node("Unsqueeze", [*d, call.integers(axis)]), 0)


def _transpose(call: Call) -> None:
    perm = [int(n) for n in call.constant(1, "the order")]
    moved(call, lambda d: call.node("Transpose", d, perm=perm), 0)


def _concatenation(call: Call) -> None:
    """Each part is requantised where it has quanta of its own."""
    rank = len(call.result().shape)
    axis = call.options.Axis() % rank
    same = all(same_quanta(call.tensor(i), call.result()) for i in call.operands)
    parts = [call.raw(i) if same else call.read(i) for i in call.operands]
    joined = call.mapped("Concat", parts, axis=axis)
    activation = call.options.FusedActivationFunction()
    if same and not activation:
        call.store(joined)
    else:
        call.write(call.activated(joined, activation))


def _parts(call: Call, data: int, axis: int, sizes: Sequence[int]) -> None:
    value = call.raw(data)
    if len(sizes) == 1:
        call.store(call.node("Identity", [value]))
        return
    parts = call.nodes("Split", [value, call.integers(sizes)], len(sizes), axis=axis)
    for i, part in enumerate(parts):
        call.store(part, i)


def _split(call: Call) -> None:
    rank = len(call.shape(1))
    axis = int(call.constant(0, "the axis").reshape(-1)[0]) % rank
    count = call.options.NumSplits()
    if count < 1 or call.shape(1)[axis] % count:
        raise call.unsupported(f"{call.shape(1)[axis]} elements in {count} parts")
    _parts(call, 1, axis, [call.shape(1)[axis] // count] * count)


def _split_v(call: Call) -> None:
    axis = int(call.constant(2, "the axis").reshape(-1)[0]) % len(call.shape(0))
    sizes = [int(n) for n in call.constant(1, "the sizes").reshape(-1)]
    rest = call.shape(0)[axis] - sum(n for n in sizes if n >= 0)
    _parts(call, 0, axis, [rest if n < 0 else n for n in sizes])


def _pack(call: Call) -> None:
    axis = call.options.Axis()

    def join(data: list[str]) -> str:
        wide = [call.node("Unsqueeze", [d, call.integers([axis])]) for d in data]
        return call.node("Concat", wide, axis=axis)

    moved(call, join, *call.operands)


def _unpack(call: Call) -> None:
    axis, count = call.options.Axis() % len(call.shape(0)), call.options.Num()
    value = call.raw(0)
    parts = [value] if count == 1 else call.nodes("Split", [value, call.integers([1] * count)], count, axis=axis)
    for i, part in enumerate(parts):
        call.store(call.node("Squeeze", [part, call.integers([axis])]), i)


def _slice(call: Call) -> None:
    """A size of -1 is all that is left."""
    axes = call.integers(list(range(len(call.shape(0)))))
    sizes = call.tensor(2).data
    if call.tensor(1).data is not None and sizes is not None:
        begin = [int(n) for n in call.constant(1, "the begin")]
        ends = [2**31 - 1 if n < 0 else b + int(n) for b, n in zip(begin, sizes, strict=True)]
        starts, end = call.integers(begin), call.integers(ends)
    else:
        starts, counts = sizes_of(call, 1), sizes_of(call, 2)
        left = call.node("Less", [counts, call.integers(0)])
        end = call.node("Where", [left, call.integers(2**31 - 1), call.node("Add", [starts, counts])])
    moved(call, lambda d: call.node("Slice", [*d, starts, end, axes]), 0)


def _strided_slice(call: Call) -> None:
    o, strides = call.options, [int(n) for n in call.constant(3, "the strides")]
    masks = Masks(o.BeginMask(), o.EndMask(), o.EllipsisMask(), o.NewAxisMask(), o.ShrinkAxisMask())

    def bounds(i: int) -> Bounds:
        data = call.tensor(i).data
        return sizes_of(call, i) if data is None else [int(n) for n in data]

    try:
        moved(call, lambda d: strided_slice(call, d[0], bounds(1), bounds(2), strides, masks), 0)
    except ValueError as error:
        raise call.unsupported(str(error)) from None


def _gather(call: Call) -> None:
    """As many `batch_dims` as the axis is deep are those of GatherND."""
    o, indices = call.options, call.raw(1)
    axis, batch = o.Axis() % len(call.shape(0)), o.BatchDims() % (len(call.shape(1)) or 1)
    if not batch:
        moved(call, lambda d: call.node("Gather", [*d, indices], axis=axis), 0)
        return
    if axis != batch:
        raise call.unsupported(f"the axis {axis} with {batch} batch dimensions")
    wide = call.node("Unsqueeze", [call.cast(indices, "int64"), call.integers([-1])])
    moved(call, lambda d: call.node("GatherND", [*d, wide], batch_dims=batch), 0)


def _gather_nd(call: Call) -> None:
    indices = call.cast(call.raw(1), "int64")
    moved(call, lambda d: call.node("GatherND", [*d, indices]), 0)


def _embedding_lookup(call: Call) -> None:
    call.write(call.node("Gather", [call.read(1), call.raw(0)], axis=0))


def _tile(call: Call) -> None:
    repeats = sizes_of(call, 1)
    moved(call, lambda d: call.node("Tile", [*d, repeats]), 0)


def _zero(tensor: Tensor) -> int:
    """The quantum that stands for zero."""
    return 0 if tensor.quantization is None else int(tensor.quantization.zero_point[0])


def _pads(call: Call, i: int) -> tuple[str, np.ndarray | None]:
    """The padding before and after each dimension, as ONNX has it, and as numbers where they are known."""
    data = call.tensor(i).data
    if data is not None:
        return call.integers([int(n) for n in data.T.reshape(-1)]), data
    across = call.node("Transpose", [call.node("Cast", [call.raw(i)], to=onnx_type("int64"))], perm=[1, 0])
    return call.node("Reshape", [across, call.integers([-1])]), None


def _pad(call: Call) -> None:
    """Quantised tensors are padded by what stands for zero."""
    pads, data = _pads(call, 1)
    if call.has(2):
        value = call.node("Reshape", [call.raw(2), call.integers([])])
    else:
        value = call.number(_zero(call.tensor(0)), call.tensor(0).dtype)
    rank = len(call.shape(0))
    source = call.raw(0)
    if source in call.images and data is not None:
        order = [0, rank - 1, *range(1, rank - 1)]
        own = call.integers([int(n) for n in data[order].T.reshape(-1)])
        inner = call.node("Pad", [call.images.planar(source, rank), own, value])
        call.store(call.interleaved(inner))
        return
    call.store(call.node("Pad", [source, pads, value]))


def _mirror_pad(call: Call) -> None:
    """REFLECT leaves out the element at the border, SYMMETRIC repeats it."""
    amounts = call.constant(1, "the paddings")
    symmetric = call.options.Mode() == 1

    def pad(data: list[str]) -> str:
        value = data[0]
        for axis, (before, after) in enumerate(amounts.tolist()):
            n = call.shape(0)[axis]
            if before or after:
                around = (int(before), int(after))
                indices = np.pad(np.arange(n), around, mode="symmetric" if symmetric else "reflect")
                value = call.node("Gather", [value, call.integers(indices.tolist())], axis=axis)
        return value

    moved(call, pad, 0)


def _reverse(call: Call) -> None:
    axes = [int(n) for n in call.constant(1, "the axes").reshape(-1)]
    ends = [-1] * len(axes), [-(2**31)] * len(axes), axes, [-1] * len(axes)
    moved(call, lambda d: call.node("Slice", [*d, *map(call.integers, ends)]), 0)


def _reverse_sequence(call: Call) -> None:
    o, lengths = call.options, call.cast(call.raw(1), "int64")
    attributes = {"time_axis": o.SeqDim(), "batch_axis": o.BatchDim()}
    moved(call, lambda d: call.node("ReverseSequence", [*d, lengths], **attributes), 0)


def _broadcast_to(call: Call) -> None:
    shape = sizes_of(call, 1)
    moved(call, lambda d: call.node("Expand", [*d, shape]), 0)


def _broadcast_args(call: Call) -> None:
    shapes = [call.cast(call.raw(i), "int64") for i in range(2)]
    call.store(call.cast(broadcast_args(call, shapes, [call.shape(i)[0] for i in range(2)]), call.result().dtype))


def _fill(call: Call) -> None:
    shape = sizes_of(call, 0)
    moved(call, lambda d: call.node("Expand", [*d, shape]), 1)


def _zeros_like(call: Call) -> None:
    zero = call.number(0, call.result().dtype)
    call.store(call.node("Expand", [zero, call.node("Shape", [call.raw(0)])]))


def _shape(call: Call) -> None:
    call.store(call.cast(call.node("Shape", [call.raw(0)]), call.result().dtype))


def _rank(call: Call) -> None:
    call.store(call.number(len(call.shape(0)), "int32"))


def _range(call: Call) -> None:
    scalars = [call.node("Reshape", [call.raw(i), call.integers([])]) for i in range(3)]
    call.store(call.node("Range", scalars))


def _space_to_batch(call: Call) -> None:
    block = [int(n) for n in call.constant(1, "the blocks").reshape(-1)]
    pads = call.constant(2, "the paddings").reshape(-1, 2)
    zero = call.number(_zero(call.tensor(0)), call.tensor(0).dtype)
    call.store(space_to_batch(call, call.raw(0), call.shape(0), block, pads, zero))


def _batch_to_space(call: Call) -> None:
    block = [int(n) for n in call.constant(1, "the blocks").reshape(-1)]
    crops = call.constant(2, "the crops").reshape(-1, 2)
    moved(call, lambda d: batch_to_space(call, d[0], call.shape(0), block, crops), 0)


def _dynamic_update_slice(call: Call) -> None:
    """Writes the update at the starts, which are moved so that all of it fits."""
    shape, size = call.shape(0), call.shape(1)
    start = call.node("Cast", [call.raw(2)], to=onnx_type("int64"))
    most = call.integers([n - s for n, s in zip(shape, size, strict=True)])
    start = call.node("Max", [call.node("Min", [start, most]), call.integers([0] * len(shape))])
    grid = np.stack(np.meshgrid(*map(np.arange, size), indexing="ij"), axis=-1).astype(np.int64)
    indices = call.node("Add", [call.builder.constant(grid, "grid"), start])
    moved(call, lambda d: call.node("ScatterND", [d[0], indices, d[1]]), 0, 1)


OPERATORS: dict[str, Handler] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "BROADCAST_ARGS": _broadcast_args,
    "BROADCAST_TO": _broadcast_to,
    "CONCATENATION": _concatenation,
    "DYNAMIC_UPDATE_SLICE": _dynamic_update_slice,
    "EMBEDDING_LOOKUP": _embedding_lookup,
    "EXPAND_DIMS": _expand_dims,
    "FILL": _fill,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "MIRROR_PAD": _mirror_pad,
    "PACK": _pack,
    "PAD": _pad,
    "PADV2": _pad,
    "RANGE": _range,
    "RANK": _rank,
    "RESHAPE": _reshape,
    "REVERSE_SEQUENCE": _reverse_sequence,
    "REVERSE_V2": _reverse,
    "SHAPE": _shape,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": _strided_slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
    "ZEROS_LIKE": _zeros_like,
}
