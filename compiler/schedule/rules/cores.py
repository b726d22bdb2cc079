"""Loops that the cores of a CPU share."""

from __future__ import annotations

from dataclasses import replace

from ...ir.nodes import Alloc, Expr, For, Load, LoopKind, Outline, Seq, Stmt, Store, Unary, Var
from ...ir.rewrite import children
from ..steps import fuse

NANOSECONDS = 0.3
"""An operation on a vector or a scalar, about, with its loads."""
WORTH = 25_000.0
"""Nanoseconds of work from which on a second core pays: handing it out and waiting for the last takes 4 to 12 us."""
ENOUGH = 32
"""Iterations for a few chunks on each of eight cores."""
FUNCTION = 10
"""Operations of an exp, an erf and the like."""


def schedule_cores(stmt: Stmt) -> Stmt:
    """for a < 8: for b < 56: S   ->   for ab < 448 core: S

    The outermost loop of each nest that is worth it; where it has few iterations, with the loops that stand directly
    inside. Nothing that is added up is cut, so results do not depend on how many cores there are.
    """
    match stmt:
        case Seq(stmts):
            return Seq(tuple(schedule_cores(s) for s in stmts))
        case For(var, _, LoopKind.SERIAL, True) if _operations(stmt) * NANOSECONDS >= WORTH:
            while var.extent < ENOUGH and (inner := _nested(stmt)) is not None:
                stmt, var = fuse(stmt, var, inner)
            if isinstance(stmt, For) and var.extent > 1:
                return replace(stmt, kind=LoopKind.CORE)
        case For(_, Seq() as body, LoopKind.SERIAL, False):
            return replace(stmt, body=schedule_cores(body))
    return stmt


def _nested(stmt: Stmt) -> Var | None:
    match stmt:
        case For(_, For(inner, _, LoopKind.SERIAL, True)):
            return inner
    return None


def _operations(stmt: Stmt) -> float:
    """Operations that a statement carries out."""
    match stmt:
        case Seq(stmts):
            return sum(_operations(s) for s in stmts)
        case For(_, body, LoopKind.VECTOR, _):
            return _operations(body)
        case For(var, body, _, _):
            return var.extent * _operations(body)
        case Alloc(_, body) | Outline(body):
            return _operations(body)
        case Store(_, _, value):
            return 1 + _values(value)
    return 0


def _values(value: Expr) -> int:
    """Operations of an expression, each shared one once; those of indices are left to the loops."""
    cost, seen, todo = 0, set[int](), [value]
    while todo:
        e = todo.pop()
        if id(e) not in seen:
            seen.add(id(e))
            cost += FUNCTION if isinstance(e, Unary) else 1
            todo += [] if isinstance(e, Load) else [c for c in children(e) if isinstance(c, Expr)]
    return cost
