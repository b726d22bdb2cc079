"""Recognises the convolutions that Winograd's algorithm can compute."""

from __future__ import annotations

from dataclasses import dataclass

from ..dtypes import F32
from ..ir.affine import affine
from ..ir.contraction import find_contraction
from ..ir.nodes import Load
from ..ir.reduction import Reduce
from .choose_layout import guard_is_bounds
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Convolution:
    """y[n, o, h, w] = sum over c, a, b of x[n, c, h + a - top, w + b - left] * weights[o, c, a, b]; x is 0 outside."""

    x: Tensor
    weights: Tensor
    top: int
    left: int


def match_convolution(t: Tensor) -> Convolution | None:
    """`t` as a two-dimensional convolution of unit strides and one group, with constant weights; None if it is none."""
    reduce = t.body
    if (
        t.is_dynamic
        or not isinstance(reduce, Reduce)
        or reduce.op != "sum"
        or reduce.init.value
        or t.dtype != F32
        or t.rank != 4
    ):
        return None
    contraction = find_contraction(t.axes, reduce.axes, reduce.value)
    if contraction is None or len(reduce.axes) != 3:
        return None
    constants = {r.buffer: r for r in t.reads if r.data is not None}
    computed = {r.buffer: r for r in t.reads if not r.is_constant}
    for c in contraction.orientations:
        a, b = c.a, c.b
        if isinstance(a, Load) and isinstance(b, Load) and a.buffer in computed and b.buffer in constants:
            return _match(t, reduce, a, b, computed[a.buffer], constants[b.buffer])
    return None


def _match(t: Tensor, reduce: Reduce, read: Load, weight: Load, x: Tensor, w: Tensor) -> Convolution | None:
    batch, filter_, *positions = t.axes
    channel, *taps = reduce.axes
    if x.rank != 4 or weight.guard is not None or weight.indices != (filter_, channel, *taps):
        return None
    if x.extents[1] != channel.extent or affine(read.indices[0]) != affine(batch) or read.indices[1] != channel:
        return None
    if read.guard is not None and not guard_is_bounds(read):
        return None
    before = []
    for index, position, tap in zip(read.indices[2:], positions, taps, strict=True):
        offset = affine(index) + affine(position).scale(-1) + affine(tap).scale(-1)
        if offset.terms or offset.constant > 0:
            return None
        before.append(-offset.constant)
    return Convolution(x, w, before[0], before[1])
