"""Pooling, normalisation, resizing and rearranging of images."""

from __future__ import annotations

from typing import Any

import onnx

from ...operators.images import batch_to_space, resize_attributes
from ..call import Call, Handler
from ..values import Batched
from .products import window


def _pool(op: str) -> Handler:
    def convert(call: Call) -> str:
        if len(call.operands) == 3:  # MaxPoolV2
            sizes, strides = call.listed(1, "the window"), call.listed(2, "the strides")
        else:
            sizes, strides = call.numbers("ksize"), call.numbers("strides")
        rank = len(sizes)
        channels = 1 if call.channels_first else rank - 1
        if {sizes[0], sizes[channels], strides[0], strides[channels]} != {1}:
            raise call.unsupported("its window goes along channels or the batch")
        attributes = window(call, call.spatial(sizes), call.spatial(strides), [1])
        return call.image(call.node(op, [call.planar(0, rank)], **attributes), rank)

    return convert


def _fused_batch_norm(call: Call) -> list[str]:
    """With the mean and the variance of training."""
    if call.flag("is_training", True):
        raise call.unsupported("it normalises by the batch: save the model for inference (training=False)")
    rank = 5 if call.channels_first is False and call.text("data_format") == "NDHWC" else 4
    operands = [call.read(i) for i in range(1, 5)]
    epsilon = call.real("epsilon", 1e-4)
    y = call.node("BatchNormalization", [call.planar(0, rank), *operands], epsilon=epsilon)
    mean, variance = operands[2:]
    return [call.image(y, rank), mean, variance, mean, variance, variance]


def _resize(mode: str, **more: Any) -> Handler:
    """The results of all but the nearest pixels are real numbers."""

    def convert(call: Call) -> str:
        half = call.flag("half_pixel_centers")
        attributes = {**resize_attributes(mode, call.flag("align_corners"), half), **more}
        if mode == "cubic":
            attributes |= {"cubic_coeff_a": -0.5 if half else -0.75, "exclude_outside": int(half)}
        x = call.images.planar(call.read(0), 4)
        if mode != "nearest":
            x = call.cast(x, onnx.TensorProto.FLOAT)
        shape = call.node("Shape", [x], start=0, end=2)
        sizes = call.node("Concat", [shape, call.sizes(1)], axis=0)
        return call.images.interleaved(call.node("Resize", [x, "", "", sizes], **attributes), 4, call.stem)

    return convert


def _blocks(op: str) -> Handler:
    """Both formats order the channels by the place in the block first."""

    def convert(call: Call) -> str:
        if call.text("data_format", "NHWC") not in ("NHWC", "NCHW"):
            raise call.unsupported(f"the format {call.text('data_format')}")
        return call.image(call.node(op, [call.planar(0, 4)], blocksize=call.integer("block_size")), 4)

    return convert


def _lrn(call: Call) -> str:
    """ONNX divides alpha by the size of the window."""
    size = 2 * call.integer("depth_radius", 5) + 1
    attributes = {"size": size, "bias": call.real("bias", 1), "beta": call.real("beta", 0.5)}
    alpha = call.real("alpha", 1) * size
    y = call.node("LRN", [call.images.planar(call.read(0), 4)], alpha=alpha, **attributes)
    return call.images.interleaved(y, 4, call.stem)


def _patches(call: Call) -> str:
    """At each place the pixels of its window, row by row, as channels. Pixels behind the border are 0."""
    sizes, strides, rates = (call.numbers(name)[1:3] for name in ("ksizes", "strides", "rates"))
    spans = [(size - 1) * rate + 1 for size, rate in zip(sizes, rates, strict=True)]
    extents = (call.shape(0) or (None,) * 4)[1:3]
    x = call.images.planar(call.read(0), 4)
    if call.text("padding") == "SAME":
        lacking = []
        for n, span, step in zip(extents, spans, strides, strict=True):
            if n is None:
                raise call.unsupported("height and width of its operand must be known: give the model's input a size")
            lacking.append(max(((n - 1) // step) * step + span - n, 0))
        pads = [n // 2 for n in lacking] + [n - n // 2 for n in lacking]
        x = call.node("Pad", [x, call.integers(pads), call.number_like(0, 0), call.integers([2, 3])])
        extents = tuple((n or 0) + more for n, more in zip(extents, lacking, strict=True))
    if spans == strides and len({*sizes, *spans}) == 1 and not any(n is None or n % sizes[0] for n in extents):
        y = call.node("SpaceToDepth", [x], blocksize=sizes[0])
        return call.images.interleaved(y, 4, call.stem)
    parts = []
    for row in range(sizes[0]):
        for column in range(sizes[1]):
            first = [row * rates[0], column * rates[1]]
            # The last place of the window ends at the border, or before it.
            last = [at + 1 - span or 2**31 - 1 for at, span in zip(first, spans, strict=True)]
            parts.append(call.node("Slice", [x, *map(call.integers, (first, last, [2, 3], strides))]))
    return call.images.interleaved(call.node("Concat", parts, axis=1), 4, call.stem)


def _space_to_batch(call: Call) -> Batched:
    block, pads = call.listed(1, "the blocks"), call.constant(2, "the paddings").reshape(-1, 2)
    return Batched(call.read(0), tuple(block), tuple((int(a), int(b)) for a, b in pads))


def _batch_to_space(call: Call) -> str:
    """An image that would have been taken apart is whole: crops alone are left to do."""
    block, crops = call.listed(1, "the blocks"), call.constant(2, "the crops").reshape(-1, 2)
    image = call.operand(0)
    if not isinstance(image, Batched) or image.block != tuple(block):
        return batch_to_space(call, call.read(0), call.extents(call.shape(0)), block, crops.tolist())
    rank = call.rank_of(call.facts[image.value].shape, 0)
    value = call.images.planar(image.value, rank)
    if any(a or b for a, b in image.pads):
        after = [0] * (rank - 2 - len(block))
        pads = [n for i in range(2) for n in (0, 0, *(pair[i] for pair in image.pads), *after)]
        value = call.node("Pad", [value, call.integers(pads), call.number_of(0, call.facts[value].dtype)])
    if crops.any():
        starts = [int(a) for a, _ in crops]
        ends = [-int(b) if b else 2**31 - 1 for _, b in crops]
        value = call.node("Slice", [value, *map(call.integers, (starts, ends, list(range(2, len(block) + 2))))])
    return call.images.interleaved(value, rank, call.stem)


OPERATORS: dict[str, Handler] = {
    "AvgPool": _pool("AveragePool"),
    "AvgPool3D": _pool("AveragePool"),
    "BatchToSpaceND": _batch_to_space,
    "DepthToSpace": _blocks("DepthToSpace"),
    "ExtractImagePatches": _patches,
    "FusedBatchNorm": _fused_batch_norm,
    "FusedBatchNormV2": _fused_batch_norm,
    "FusedBatchNormV3": _fused_batch_norm,
    "LRN": _lrn,
    "MaxPool": _pool("MaxPool"),
    "MaxPool3D": _pool("MaxPool"),
    "MaxPoolV2": _pool("MaxPool"),
    "ResizeBicubic": _resize("cubic"),
    "ResizeBilinear": _resize("linear"),
    "ResizeNearestNeighbor": _resize("nearest"),
    "SpaceToBatchND": _space_to_batch,
    "SpaceToDepth": _blocks("SpaceToDepth"),
}
