"""Whether an access stays inside its buffer: a proof from the ranges of its indices and the conditions around it."""

from __future__ import annotations

from collections.abc import Iterable

from .facts import Facts
from .nodes import Const, Expr, Load, Scalar, Store, Var


def unproved_index(x: Load | Store, conditions: Iterable[Expr] = ()) -> int | None:
    """The first dimension of the buffer whose index is not proved to be inside wherever `conditions` and the guard of
    the access hold; None where the access stays inside. Nothing is proved by arithmetic that may leave int32."""
    pairs = enumerate(zip(x.indices, x.buffer.shape, strict=True))
    unclear = [(d, index, extent) for d, (index, extent) in pairs if not _evident(index, extent)]
    if not unclear:
        return None
    guard = x.guard if isinstance(x, Load) else None
    guards = tuple(conditions) if guard is None else (*conditions, guard)
    counted = Facts({})
    facts = counted.assuming(guards)
    wraps = any(counted.wraps(c, loaded=False) for c in guards)
    for d, index, extent in unclear:
        low, high = facts.index(index)
        reachable = low <= high  # else the conditions contradict each other
        if wraps or counted.wraps(index, loaded=False) or (reachable and (low < 0 or high >= extent)):
            return d
    return None


def leaves_int32(x: Load) -> bool:
    """Whether arithmetic in the indices or the guard of a load may leave int32: then little is proved of it."""
    counted = Facts({})
    return any(counted.wraps(e, loaded=False) for e in (*x.indices, *(() if x.guard is None else (x.guard,))))


def _evident(index: Expr, extent: int) -> bool:
    """Whether no analysis is needed to prove that the index is inside, whatever the conditions are: most are an
    axis."""
    match index:
        case Var() if not isinstance(index, Scalar):
            return 0 < index.extent <= extent
        case Const(value, _):
            return 0 <= int(value) < extent
    return False
