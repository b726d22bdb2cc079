"""Axes as in ONNX: negative ones count from the end."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.sizes import Size, capacities
from .call import Call


def one_axis(call: Call, axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises UnsupportedError where it is out of range, as any is for a scalar."""
    if not -rank <= axis < rank:
        raise call.unsupported(f"axis {axis} does not exist in a tensor of rank {rank}", "the model is invalid")
    return axis % rank


def many_axes(call: Call, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """`axes` counted from the front, in the order given.

    Raises UnsupportedError where one is out of range or named twice.
    """
    result = tuple(one_axis(call, a, rank) for a in axes)
    if len(set(result)) < len(result):
        raise call.unsupported(f"axes {list(axes)} name one axis twice", "the model is invalid")
    return result


def axes_argument(call: Call, index: int, since: int) -> tuple[int, ...] | None:
    """The axes given by attribute before opset `since`, by input `index` from there on; None where absent."""
    if call.opset >= since:
        return call.ints(index, "axes")
    axes: tuple[int, ...] = call.attribute("axes", ())
    return axes or None


def diagonal_within(k: int, shape: Sequence[Size]) -> int:
    """The number of the diagonal `k` (right of the main one) of matrices of the last two extents of `shape`; one beside
    the matrix stands for all that are further away, so that the number is an int32."""
    rows, columns = capacities(shape[-2:])
    return max(-rows, min(k, columns))
