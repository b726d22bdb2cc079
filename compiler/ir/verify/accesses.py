"""Every access stays in its buffer: by proof where indices are those of dimensions, as far as known where they are
flat."""

from __future__ import annotations

from collections.abc import Iterator

from ...dtypes import I32
from ..affine import Affine, affine
from ..bounds import unproved_index
from ..facts import range_of
from ..lanes import Ramp, Splat, lanes_of
from ..nodes import Expr, Load, Scalar, Scope, Store, Var
from .place import Place, shown


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
    return any(_outside(i, extent) for i, extent in zip(x.indices, x.buffer.shape, strict=True))


def _outside(index: Expr, extent: int) -> bool:
    """Whether an index is known to be out of range in some iteration. An interval is exact for a sum of variables of
    loops that are not dynamic; elsewhere only one that misses the buffer altogether tells."""
    lanes = lanes_of(index)
    if isinstance(index, Splat | Ramp):
        index = index.a if isinstance(index, Splat) else index.base
        lanes = 1 if isinstance(index, Splat) else lanes
    elif lanes > 1:
        return False
    found = range_of(index)
    if found is None:
        return False
    low, high = found[0], found[1] + lanes - 1
    return low < 0 or high >= extent if _is_exact(affine(index)) else high < 0 or low >= extent


def _is_exact(form: Affine) -> bool:
    return all(isinstance(a, Var) and not isinstance(a, Scalar) and a.length is None for a, _ in form.terms)
