"""Loops that run on several cores of a CPU."""

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

    The outermost loop of each nest that is large enough, fused with the loops directly inside where it has few
    iterations. No reduction is divided, so results do not depend on the number of cores.
    """
    match stmt:
        case Seq(stmts):
            parts = (schedule_cores(s, costs, part_of(choices, i, stmts)) for i, s in enumerate(stmts))
            return Seq(tuple(parts))
        case For(_, _, LoopKind.SERIAL, True):
            return _parallelise(stmt, costs, choices)
        case For(_, Seq() as body, LoopKind.SERIAL, False):
            return replace(stmt, body=schedule_cores(body, costs, choices))
    return stmt


def _parallelise(loop: For, costs: CpuCosts, choices: Choices) -> Stmt:
    """The loop, fused with some of those directly inside, over cores; or unchanged."""
    nested = _nested_loops(loop)
    extents = list(accumulate((v.extent for v in nested), mul))
    enough = next((n for n, e in enumerate(extents, 1) if e >= costs.parallel_iterations), len(nested))
    worth = _operations(loop, costs) * costs.nanoseconds >= costs.parallel_worth and extents[enough - 1] > 1
    options = [n for n, e in enumerate(extents, 1) if e > 1]
    count = choices.choose("cores", ordered(enough if worth else 0, [0, *options]))
    if not count:
        return loop
    fused: Stmt = loop
    var = loop.var
    for inner in nested[1:count]:
        fused, var = fuse(fused, var, inner)
    return tag(fused, var, LoopKind.CORE)


def _nested_loops(stmt: Stmt) -> list[Var]:
    """The perfectly nested loops from `stmt` on, up to a dynamic one inside, with which fusion takes a division."""
    loops: list[Var] = []
    while isinstance(stmt, For) and stmt.kind is LoopKind.SERIAL and stmt.parallel:
        if loops and stmt.var.length is not None:
            break
        loops.append(stmt.var)
        stmt = stmt.body
    return loops


def _operations(stmt: Stmt, costs: CpuCosts) -> float:
    """The number of operations of a statement."""
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
    """The number of operations of an expression, each shared one once; without index arithmetic."""
    cost, seen, todo = 0, set[int](), [value]
    while todo:
        e = todo.pop()
        if id(e) not in seen:
            seen.add(id(e))
            cost += costs.function if isinstance(e, Unary) else 1
            todo += [] if isinstance(e, Load) else [c for c in children(e) if isinstance(c, Expr)]
    return cost
