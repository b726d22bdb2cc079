"""Every access stays in its buffer: by proof where indices are those of dimensions, as far as known where they are
flat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...dtypes import I32
from ..affine import Affine, affine
from ..bounds import unproved_index
from ..facts import range_of
from ..lanes import Ramp, Splat, lanes_of
from ..nodes import Buffer, Expr, Load, Scalar, Scope, Store, Var
from .place import Place, Reach, shown


def check_access(x: Load | Store, at: Place) -> Iterator[str]:
    """Problems of the indices of `x`."""
    if x.buffer.scope is Scope.TILE and not at.tensorized:
        yield f"a tile is accessed by no instruction of the target: {shown(x)}"
    if len(x.indices) != len(x.buffer.shape):
        yield f"{len(x.indices)} indices for {x.buffer!r}: {shown(x)}"
        return
    wrong = next((i.dtype for i in x.indices if i.dtype != I32), None)
    if wrong is not None:
        yield f"an index is {wrong}: {shown(x)}"
    elif at.reached and (_may_leave_flat(x, at) if at.flat else unproved_index(x, at.conditions) is not None):
        yield f"an index may leave {x.buffer!r}: {shown(x)}"


def _may_leave_flat(x: Load | Store, at: Place) -> bool:
    if at.conditions or (isinstance(x, Load) and x.guard is not None):
        return False
    return any(_outside(i, reach(x.buffer, extent, at)) for i, extent in zip(x.indices, x.buffer.shape, strict=True))


def reach(buffer: Buffer, extent: int, at: Place) -> Reach | None:
    """Where index 0 of a dimension of `extent` points."""
    return at.pointers[buffer] if buffer in at.pointers else Reach(extent)


def moved(start: Reach | None, offset: Expr) -> Reach | None:
    """Where a pointer with `offset` added points. An interval is exact for a sum of variables of loops that are not
    dynamic."""
    interval = range_of(offset)
    if start is None or interval is None:
        return None
    exact = start.exact and _is_exact(affine(offset))
    return replace(start, low=start.low + interval[0], high=start.high + interval[1], exact=exact)


def _outside(index: Expr, start: Reach | None) -> bool:
    """Whether an index is known to be out of range in some iteration."""
    lanes = lanes_of(index)
    if isinstance(index, Splat | Ramp):
        index = index.a if isinstance(index, Splat) else index.base
        lanes = 1 if isinstance(index, Splat) else lanes
    elif lanes > 1:
        return False
    there = moved(start, index)
    return there is not None and there.leaves(lanes)


def _is_exact(form: Affine) -> bool:
    return all(isinstance(a, Var) and not isinstance(a, Scalar) and a.length is None for a, _ in form.terms)
