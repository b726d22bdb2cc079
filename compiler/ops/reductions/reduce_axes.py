"""Reductions along dimensions of a tensor: what pooling, normalisation, softmax and the Reduce family share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.construct import unary
from ...ir.nodes import Const, Expr
from ...ir.reduction import Reduce
from ...ir.sizes import Size, is_one, shown
from ...tensor import Tensor, compute, reduce


def reduce_over(op: str, extents: Sequence[Size], value: Callable[..., Expr]) -> Expr:
    """The reduction of `value(*axes)`, as `tensor.reduce`, without the axes of one iteration, which become 0.

    Where no axis is left it is the value itself; where an axis has no iteration, the neutral element.
    """
    long = [d for d, extent in enumerate(extents) if not is_one(extent)]

    def element(*axes: Expr) -> Expr:
        index: list[Expr] = [Const(0)] * len(extents)
        for d, axis in zip(long, axes, strict=True):
            index[d] = axis
        return value(*index)

    if not long:
        return element()
    result = reduce(op, [extents[d] for d in long], element)
    assert isinstance(result, Reduce)
    return result.init if 0 in extents else result


def reduce_axes(
    name: str,
    op: str,
    shape: Sequence[Size],
    axes: Sequence[int],
    reads: tuple[Tensor | None, ...],
    value: Callable[..., Expr],
    keepdims: bool = False,
) -> Tensor:
    """`value(*index)`, over indices of `shape`, reduced along `axes` (ascending, from the front).

    The result lacks these dimensions, or has them with extent 1 where `keepdims`. Raises ValueError for axes that
    `shape` lacks, negative ones among them.
    """
    if not set(axes) <= set(range(len(shape))):
        raise ValueError(f"axes {list(axes)} are not all dimensions of {shown(shape)}: count them from 0 on")
    kept = [d for d in range(len(shape)) if d not in axes]
    out: list[Size] = [1 if d in axes else shape[d] for d in range(len(shape)) if keepdims or d not in axes]

    def body(*outer: Expr) -> Expr:
        index: list[Expr] = [Const(0)] * len(shape)
        for d, axis in zip(kept, (outer[d] for d in kept) if keepdims else outer, strict=True):
            index[d] = axis

        def element(*inner: Expr) -> Expr:
            for d, axis in zip(axes, inner, strict=True):
                index[d] = axis
            return value(*index)

        return reduce_over(op, [shape[d] for d in axes], element)

    return compute(name, tuple(out), reads, body)


def attains(x: Expr, extreme: Expr) -> Expr:
    """Whether `x` is the result of the max_nan or min_nan that it is an element of; if that is NaN, each NaN is."""
    return x.eq(extreme) | unary("isnan", x) if x.dtype.is_float else x.eq(extreme)


def without(index: Sequence[Expr], axes: Sequence[int]) -> tuple[Expr, ...]:
    """The index into a tensor reduced along `axes` that belongs to an index of the whole."""
    return tuple(i for d, i in enumerate(index) if d not in axes)
