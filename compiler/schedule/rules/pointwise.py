"""Element-wise nests: loops merged as far as memory is contiguous, interior freed of guards, innermost in vectors."""

from __future__ import annotations

from ...ir.nodes import For, Load, LoopKind, Stmt, Var
from ...ir.rewrite import walk
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import contiguous, vectorisable
from ..nest import Pointwise, match_nest
from ..steps import NARROWEST_VECTOR, fuse, partition, segments, sink, split, tag, vector_segments, vectorise
from .each_nest import each_nest

UNROLL = 4
"""Vectors per iteration: hides the loop's own instructions, which browsers do not unroll."""

COPIES = 8
"""Elements per iteration that are copied one by one."""


def schedule_pointwise(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    assert isinstance(nest, Pointwise)
    if nest.loops:
        stmt = partition(stmt, list(nest.loops))
    return each_nest(stmt, lambda s: _vectorise(_merge(s), target))


def _merge(stmt: Stmt) -> Stmt:
    """Fuses neighbouring loops from the inside out where every access allows it."""
    nest = match_nest(stmt)
    assert nest is not None
    loops = list(nest.loops)
    while len(loops) > 1:
        outer, inner = loops[-2:]
        if not contiguous(stmt, outer, inner):
            break
        stmt, fused = fuse(stmt, outer, inner)
        loops[-2:] = [fused]
    return simplify_stmt(stmt)


def _vectorise(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    if nest is None or not nest.loops:
        return stmt
    vectors = vectorise_loop(stmt, nest.loops[-1], target.lanes, UNROLL)
    if vectors is not stmt or not isinstance(nest.store.value, Load):
        return vectors
    return _unroll(stmt, nest.loops)


def _unroll(stmt: Stmt, loops: tuple[Var, ...]) -> Stmt:
    """Copies of single elements, several per iteration: of the innermost loop, and where that is short of the one
    around it (an image's channels, then its pixels)."""
    together = 1
    for var in loops[:-3:-1]:
        size = COPIES // together
        if size < 2:
            break
        stmt, blocks = split(stmt, var, segments(var.extent, size))
        for _, i in blocks:
            stmt = tag(sink(stmt, i), i, LoopKind.UNROLL)
        together *= min(var.extent, size)
    return simplify_stmt(stmt)


def vectorise_loop(stmt: Stmt, var: Var, lanes: int, unroll: int) -> Stmt:
    """The loop over `var` in vectors of `lanes`, `unroll` of them per iteration; scalars for the rest."""
    loop = next(n for n in walk(stmt) if isinstance(n, For) and n.var is var)
    if var.extent < NARROWEST_VECTOR or not vectorisable(loop.body, var):
        return stmt
    stmt, pairs = split(stmt, var, vector_segments(var.extent, lanes))
    for outer, inner in pairs:
        stmt = vectorise(stmt, inner, lanes)
        if outer.extent > unroll:
            stmt, blocks = split(stmt, outer, segments(outer.extent, unroll))
            for _, i in blocks:
                stmt = tag(stmt, i, LoopKind.UNROLL)
    return simplify_stmt(stmt)
