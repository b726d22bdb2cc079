"""Loops that the cores of a CPU share."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from operator import mul

from ...choices import Choices, ordered, part_of
from ...costs import CpuCosts
from ...ir.nodes import Alloc, Expr, For, Load, LoopKind, Outline, Seq, Stmt, Store, Unary, Var
from ...ir.rewrite import children
from ..steps import fuse, tag


def schedule_cores(stmt: Stmt, costs: CpuCosts, choices: Choices) -> Stmt:
    """for a < 8: for b < 56: S   ->   for ab < 448 core: S

    The outermost loop of each nest that is worth it; where it has few iterations, with the loops that stand directly
    inside. Nothing that is added up is cut, so results do not depend on how many cores there are.
    """
    match stmt:
        case Seq(stmts):
            parts = (schedule_cores(s, costs, part_of(choices, i, stmts)) for i, s in enumerate(stmts))
            return Seq(tuple(parts))
        case For(_, _, LoopKind.SERIAL, True):
            return _share(stmt, costs, choices)
        case For(_, Seq() as body, LoopKind.SERIAL, False):
            return replace(stmt, body=schedule_cores(body, costs, choices))
    return stmt


def _share(loop: For, costs: CpuCosts, choices: Choices) -> Stmt:
    """The loop with some of those directly inside as one that cores share, or as it is."""
    nested = _nested_loops(loop)
    extents = list(accumulate((v.extent for v in nested), mul))
    enough = next((n for n, e in enumerate(extents, 1) if e >= costs.parallel_iterations), len(nested))
    worth = _operations(loop, costs) * costs.nanoseconds >= costs.parallel_worth and extents[enough - 1] > 1
    options = [n for n, e in enumerate(extents, 1) if e > 1]
    count = choices.choose("cores", ordered(enough if worth else 0, [0, *options]))
    if not count:
        return loop
    made: Stmt = loop
    var = loop.var
    for inner in nested[1:count]:
        made, var = fuse(made, var, inner)
    return tag(made, var, LoopKind.CORE)


def _nested_loops(stmt: Stmt) -> list[Var]:
    """The loops that stand directly inside each other from `stmt` on."""
    found: list[Var] = []
    while isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and stmt.parallel:
        found.append(stmt.var)
        stmt = stmt.body
    return found


def _operations(stmt: Stmt, costs: CpuCosts) -> float:
    """Operations that a statement carries out."""
    match stmt:
        case Seq(stmts):
            return sum(_operations(s, costs) for s in stmts)
        case For(_, body, LoopKind.VECTOR, _):
            return _operations(body, costs)
        case For(var, body, _, _):
            return var.extent * _operations(body, costs)
        case Alloc(_, body) | Outline(body):
            return _operations(body, costs)
        case Store(_, _, value):
            return 1 + _values(value, costs)
    return 0


def _values(value: Expr, costs: CpuCosts) -> int:
    """Operations of an expression, each shared one once; those of indices are left to the loops."""
    cost, seen, todo = 0, set[int](), [value]
    while todo:
        e = todo.pop()
        if id(e) not in seen:
            seen.add(id(e))
            cost += costs.function if isinstance(e, Unary) else 1
            todo += [] if isinstance(e, Load) else [c for c in children(e) if isinstance(c, Expr)]
    return cost
