"""interleave: elements of a few channels are computed in vectors along another loop."""

from __future__ import annotations

from ...errors import ScheduleError
from ...ir.nodes import Alloc, Buffer, For, Load, LoopKind, Scope, Seq, Stmt, Store, Var
from ...ir.rewrite import rewrite_statements, substitute
from .split import NARROWEST_VECTOR, split, vectors_of


def interleave(stmt: Stmt, along: Var, lanes: int) -> Stmt:
    """for x: for c < 3: y[x, c] = f(x, c)
    ->  for xo: local rows[3, 4]; for c unroll: for xi vector: rows[c, xi] = f(4 * xo + xi, c)
                for xi unroll: for c unroll: y[4 * xo + xi, c] = rows[c, xi]

    The loop over `along` is around the innermost one. What is left of it stays. Raises ScheduleError for other nests.
    """
    stmt, pairs = split(stmt, along, vectors_of(along, lanes))
    vectors = {inner for _, inner in pairs if inner.extent >= NARROWEST_VECTOR}
    found = False

    def rule(n: object) -> Stmt | None:
        nonlocal found
        match n:
            case For(x, For(c, Store(y, at, value))) if x in vectors:
                found = True
                rows = Buffer("rows", (c.extent, x.extent), value.dtype, Scope.LOCAL)
                other = {v: Var(v.name, v.extent) for v in (x, c)}
                row = For(other[x], Store(rows, (other[c], other[x]), substitute(value, other)), LoopKind.VECTOR)
                copy = For(c, Store(y, at, Load(rows, (c, x))), LoopKind.UNROLL)
                return Alloc(rows, Seq((For(other[c], row, LoopKind.UNROLL), For(x, copy, LoopKind.UNROLL))))
        return None

    interleaved = rewrite_statements(stmt, rule)
    if vectors and not found:
        raise ScheduleError(f"interleave: {along.name} is not around the innermost loop of a nest")
    return interleaved
