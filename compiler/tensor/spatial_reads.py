"""Which tensors a reduction reads as convolutions and poolings read images: these have layouts of their own."""

from __future__ import annotations

from collections.abc import Iterable

from ..dtypes import F32, I8, I16, I32, U8
from ..ir.affine import affine, flat_offset
from ..ir.nodes import Expr, Var
from ..ir.reduction import Reduce
from ..ir.rewrite import free_vars, loads
from ..target import LANES
from .tensor import Tensor

IMAGES = (F32, I32, I8, U8, I16)
"""Element types of tensors that have other layouts than ONNX's."""


def reads_spatially(reduction: Reduce, axes: tuple[Var, ...], reads: tuple[Tensor, ...], t: Tensor) -> bool:
    """Same rank, spatial axis d in index d, one image of the batch, and no other operand but weights. Where these are
    computed, too, it must read windows: a matrix product, which looks alike, reads its operands row-major."""
    if t.is_constant or t.rank != len(axes) or t.rank < 3 or t.dtype not in IMAGES:
        return False
    sites = list(loads(reduction.value))
    constant = {r.buffer for r in reads if r.is_constant}
    if any(x.buffer is not t.buffer and x.buffer not in constant for x in sites):
        windows = {(a, k) for a in axes[2:] for k in reduction.axes if k.extent > 1}
        own = [i for x in sites if x.buffer is t.buffer for i in x.indices[2:]]
        if not any({a, k} <= free_vars(i) for i in own for a, k in windows):
            return False
    found = {x.indices for x in sites if x.buffer is t.buffer}
    if len(found) > 1:  # the product of a tensor with itself
        return False
    return any(is_spatial(at, axes) and not {*reduction.axes} & free_vars(at[0]) for at in found)


def is_spatial(indices: tuple[Expr, ...], axes: tuple[Var, ...]) -> bool:
    """Index d of each spatial dimension depends on axis d, or that axis has one position."""
    if len(indices) != len(axes):
        return False
    return all(
        a.extent == 1 or (affine(i).coefficient(a) or a in free_vars(i))
        for i, a in zip(indices[2:], axes[2:], strict=True)
    )


def keeps_axes(body: Expr, axes: tuple[Var, ...]) -> bool:
    """Whether each output axis d indexes dimension d of the operands (element-wise, concat, slice, resize, pad)."""
    for x in loads(body):
        if len(x.indices) == len(axes) and not is_spatial(x.indices, axes):
            return False
        wide = len(x.indices) == len(axes) and axes[1].extent > 1 and x.buffer.shape[1] > 1
        if wide and axes[1] not in free_vars(x.indices[1]):
            return False
    return True


def slides_over(user: Tensor, t: Tensor) -> bool:
    """Whether `user` reduces windows of `t`, each of one channel: pooling, depthwise convolution. Its results are
    computed in vectors of channels, or of few channels along rows, where these lie so in memory."""
    reduction = user.body
    if not isinstance(reduction, Reduce) or not reads_spatially(reduction, user.axes, user.reads, t):
        return False
    return not any({*reduction.axes} & free_vars(x.indices[1]) for x in loads(reduction.value) if x.buffer is t.buffer)


def lies_for_windows(body: Expr, axes: tuple[Var, ...]) -> bool:
    """Whether a map that only moves data to `axes` may be computed where windows slide over it: it reads an image of
    the same axes, or few channels whose rows are rows in memory."""
    for x in loads(body):
        rows = axes[1].extent < LANES and flat_offset(x.buffer.shape, x.indices).coefficient(axes[-1]) == 1
        if not rows and not (len(x.indices) == len(axes) and keeps_axes(x, axes)):
            return False
    return True


def is_along_rows(reduction: Reduce, images: Iterable[Tensor], channels: int) -> bool:
    """Whether `images`, which a reduction reads and makes, have fewer than `channels`: its vectors lie along rows.
    Sums of integers take pairs of channels."""
    few = all(t.extents[1] < channels for t in images)
    return few and (reduction.op != "sum" or reduction.dtype.is_float)
