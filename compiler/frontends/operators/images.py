"""Parts of operators on images: their attributes and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..converted_call import ConvertedCall

Array = Any


def resize_attributes(mode: str, align_corners: bool, half_pixel_centers: bool) -> dict[str, Any]:
    """The attributes of Resize: places are rounded down where pixels are points, else to the nearest."""
    place = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    nearest = "floor" if place == "asymmetric" else "round_prefer_ceil"
    return {"mode": mode, "coordinate_transformation_mode": place, "nearest_mode": nearest}


def transposed_padding(
    inputs: Sequence[int], outputs: Sequence[int], sizes: Sequence[int], strides: Sequence[int], same: bool
) -> dict[str, Any]:
    """The attributes of ConvTranspose for results of the extents `outputs`: under SAME padding they are cut as a
    convolution of them would have been padded. Raises ValueError for results that are too small."""
    begin, end, more = [], [], []
    for n, size, k, stride in zip(inputs, outputs, sizes, strides, strict=True):
        whole = (n - 1) * stride + k
        cut = max(whole - size, 0) if same else 0
        begin.append(cut // 2)
        end.append(cut - cut // 2)
        more.append(size - (whole - cut))
    if any(m < 0 for m in more):
        raise ValueError(f"the result {list(outputs)} of {list(inputs)}")
    attributes: dict[str, Any] = {"kernel_shape": list(sizes), "strides": list(strides), "pads": [*begin, *end]}
    return {**attributes, "output_padding": more} if any(more) else attributes


def space_to_batch(
    call: ConvertedCall, value: str, shape: Sequence[int], block: Sequence[int], pads: Array, zero: str
) -> str:
    """Pads by `zero`, then takes each dimension apart into blocks, whose places become parts of the batch. `pads` has
    a row, before and behind, for each dimension of `block`, the first of which follows the batch, which may be
    free, -1."""
    k = len(block)
    around = [(0, 0), *((int(a), int(b)) for a, b in pads), *([(0, 0)] * (len(shape) - 1 - k))]
    sizes = [n + a + b for n, (a, b) in zip(shape, around, strict=True)]
    split = [sizes[0], *(n for s, b in zip(sizes[1:], block, strict=False) for n in (s // b, b)), *sizes[1 + k :]]
    perm = [*range(2, 2 * k + 2, 2), 0, *range(1, 2 * k + 1, 2), *range(2 * k + 1, len(split))]
    joined = [
        max(sizes[0] * prod(block), -1),
        *(s // b for s, b in zip(sizes[1:], block, strict=False)),
        *sizes[1 + k :],
    ]
    if any(a or b for a, b in around):
        numbers = [a for a, _ in around] + [b for _, b in around]
        value = call.node("Pad", [value, call.integers(numbers), zero])
    value = call.node("Reshape", [value, call.integers(split)])
    return call.node("Reshape", [call.node("Transpose", [value], perm=perm), call.integers(joined)])


def batch_to_space(call: ConvertedCall, value: str, shape: Sequence[int], block: Sequence[int], crops: Array) -> str:
    """The reverse: `crops` are taken off at the end."""
    k = len(block)
    batch = -1 if shape[0] < 0 else shape[0] // prod(block)
    split = [*block, batch, *shape[1:]]
    perm = [k, *(n for i in range(k) for n in (k + 1 + i, i)), *range(2 * k + 1, len(split))]
    sizes = [n * b for n, b in zip(shape[1:], block, strict=False)]
    joined = [batch, *sizes, *shape[1 + k :]]
    value = call.node("Reshape", [value, call.integers(split)])
    value = call.node("Reshape", [call.node("Transpose", [value], perm=perm), call.integers(joined)])
    if not any(int(n) for row in crops for n in row):
        return value
    starts = [int(a) for a, _ in crops]
    ends = [int(n - b) for n, (_, b) in zip(sizes, crops, strict=True)]
    return call.node("Slice", [value, *map(call.integers, (starts, ends, list(range(1, k + 1))))])
