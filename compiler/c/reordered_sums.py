"""Sums of which GCC before 14 takes the terms in another order than they are written (its bug 110381)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd

from ..ir.affine import Affine, affine
from ..ir.lanes import lanes_of
from ..ir.nodes import Binary, Const, Expr, For, Load, Stmt, Store, Var
from ..ir.rewrite import children, free_vars, loads

Loops = tuple[For, ...]


def reorders_sums(body: Stmt) -> bool:
    """Whether GCC's loop vectoriser may reorder a sum of floats, and then add some of its terms twice.

    It unrolls the inner loops of a sum, s = s + x or s = s * x, takes the terms that lie within one step of the loop
    around these as a group, and omits the permutation from the order of their addresses to that of the loops: an
    order that floats have to keep. The order of minima and maxima makes no difference; a vector is no sum to GCC.
    """
    sums = [(loops, s) for loops, s in _updates(body, ())]
    terms = Counter((loops, s.buffer, s.indices) for loops, s in sums)
    return any(n > 1 for n in terms.values()) or not all(
        _keeps_order(x, loops) for loops, s in sums for x in loads(s.value) if x.buffer is not s.buffer
    )


def _updates(s: Stmt, loops: Loops) -> Iterator[tuple[Loops, Store]]:
    """The scalars of floats that loops update by themselves, and these loops, outside in."""
    match s:
        case For(parallel=False):
            yield from _updates(s.body, (*loops, s))
        case Store(buffer, _, value):
            by_itself = any(x.buffer is buffer for x in loads(value))
            if loops and by_itself and buffer.dtype.is_float and lanes_of(value) == 1 and not _is_extreme(value):
                yield loops, s
        case _:
            for c in children(s):
                if not isinstance(c, Expr):
                    yield from _updates(c, loops)


def _is_extreme(e: Expr) -> bool:
    return isinstance(e, Binary) and e.op in ("max", "min")


def _keeps_order(x: Load, loops: Loops) -> bool:
    """Whether inside each loop the others read elements at rising addresses, or not two within one of its steps."""
    form = affine(x.indices[-1]) if x.indices else affine(Const(0))
    variables = {loop.var for loop in loops}
    if any(not isinstance(a, Var) and variables & free_vars(a) for a, _ in form.terms):
        return len(loops) == 1
    inner: list[For] = []
    for loop in reversed(loops):
        step = form.coefficient(loop.var)
        apart = gcd(*(form.coefficient(i.var) for i in inner))
        if inner and step and not (step > 0 and _rises(form, inner)) and apart < abs(step):
            return False
        inner.append(loop)
    return True


def _rises(form: Affine, inner: Sequence[For]) -> bool:
    """Whether loops, given inside out, walk in the order of the addresses."""
    span = 0
    for loop in inner:
        step = form.coefficient(loop.var)
        if step < 0 or 0 < step <= span:
            return False
        span += step * (loop.var.extent - 1)
    return True
