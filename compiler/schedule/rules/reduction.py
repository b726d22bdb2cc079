"""Reductions without reuse between operands: pooling, depthwise convolution, sums and maxima.

Where the innermost parallel loop is contiguous its elements fill the lanes, and a few neighbours are computed together,
so that they share the loads of overlapping windows. Of those the rows stay a loop: written out in full, LLVM would load
all that a tile needs before its first multiplication, for wasm, which is more than a browser has registers for (3x3
windows on eight outputs: 6 instead of 10 cycles a vector). All channels of such a tile go into one function: a call for
four would cost more than they do. Where the loop is not contiguous, but the reduction runs over contiguous elements,
each lane keeps a partial result.
"""

from __future__ import annotations

from math import prod

from ...dtypes import F32, I32
from ...ir.nodes import LoopKind, Stmt, Var
from ...ir.reduction import neutral
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import accesses, vectorisable
from ..nest import Reduction, match_nest
from ..steps import (
    NARROWEST_VECTOR,
    outline,
    partition,
    rfactor,
    segments,
    sink,
    split,
    tag,
    vector_segments,
    vectorise,
)
from .each_nest import each_nest
from .merge_reduction import merge_reduction

WINDOW_UNROLL = 16
"""Windows of up to this many elements are unrolled where their neighbours share nothing."""

NEIGHBOURS = 4
"""Outputs along a row that are computed together; twice as many where they share loads."""


def schedule_reduction(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    stmt = partition(stmt, list(nest.loops[:-1]))
    return each_nest(stmt, lambda s: _schedule(s, target))


def _schedule(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    if not isinstance(nest, Reduction):
        return stmt
    if nest.loops and nest.loops[-1].extent >= NARROWEST_VECTOR and vectorisable(stmt, nest.loops[-1]):
        return _lanes_across(stmt, nest, target)
    return _lanes_along(stmt, target)


def _lanes_across(stmt: Stmt, nest: Reduction, target: Target) -> Stmt:
    """Lanes are neighbouring outputs."""
    lane_loop = nest.loops[-1]
    stmt, pairs = split(stmt, lane_loop, vector_segments(lane_loop.extent, target.lanes))
    neighbours, unrolled = _tile(nest, target)
    if neighbours > 1:
        row = nest.loops[-2]
        stmt, tiles = split(stmt, row, segments(row.extent, neighbours, balanced=True))
        for _, inner in tiles:
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    for _, inner in pairs:
        stmt = vectorise(sink(stmt, inner), inner, target.lanes)
    for v in unrolled:
        stmt = tag(stmt, v, LoopKind.UNROLL)
    # The channels of a tile go into its function, unless the function is long enough without.
    short = _count(nest.over) <= WINDOW_UNROLL
    return simplify_stmt(outline(stmt, around=tuple(outer for outer, _ in pairs) if short else ()))


def _tile(nest: Reduction, target: Target) -> tuple[int, tuple[Var, ...]]:
    """Neighbours that are computed together, and the reduction loops that are unrolled."""
    short = _count(nest.over) <= WINDOW_UNROLL
    if len(nest.loops) < 2:
        return 1, nest.over if short else ()
    if short and any(x.guard is not None for x in loads(nest.value)):
        return NEIGHBOURS, nest.over
    if nest.over and nest.over[-1].extent <= WINDOW_UNROLL and _overlaps(nest, nest.loops[-2]):
        weights = any(x.buffer.constant for x in loads(nest.value))
        beside = nest.over[-1].extent if weights else 0
        return max(NEIGHBOURS, min(2 * NEIGHBOURS, target.registers - beside - 1)), nest.over[-1:]
    return (NEIGHBOURS, nest.over) if short else (1, ())


def _overlaps(nest: Reduction, row: Var) -> bool:
    """Whether the windows of neighbours in `row` share elements."""
    indices = [i for x in loads(nest.value) for i in x.indices]
    return any(row in free_vars(i) and any(v in free_vars(i) for v in nest.over) for i in indices)


def _count(loops: tuple[Var, ...]) -> int:
    return prod(v.extent for v in loops)


def _contiguous_over(nest: Reduction, var: Var, target: Target) -> bool:
    if var.extent < 2 * target.lanes or nest.acc.dtype not in (F32, I32):
        return False
    return vectorisable_value(nest, var)


def vectorisable_value(nest: Reduction, var: Var) -> bool:
    """Whether the reduced value can be computed for several `var` at once."""
    return vectorisable(nest.value, var) and any(a.step(var) == 1 for a in accesses(nest.value))


def _lanes_along(stmt: Stmt, target: Target) -> Stmt:
    """Lanes are neighbouring elements of one reduction, where those lie together."""
    merged = merge_reduction(stmt)
    nest = match_nest(merged)
    assert isinstance(nest, Reduction)
    if not nest.over or not _contiguous_over(nest, nest.over[-1], target):
        return stmt
    return simplify_stmt(outline(rfactor(merged, nest.over[-1], target.lanes, neutral(nest.op, nest.acc.dtype))))
