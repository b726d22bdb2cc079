"""Reductions without reuse between operands: pooling, depthwise convolution, sums and maxima.

Where the innermost parallel loop is contiguous its elements fill the lanes, and a few neighbours are computed together
so that they share the loads of overlapping windows. Where it is not, but the reduction runs over contiguous elements,
each lane keeps a partial result.
"""

from __future__ import annotations

from ...dtypes import F32, I32, highest, lowest
from ...ir.nodes import Buffer, Const, LoopKind, Stmt, Var
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import accesses, vectorisable
from ..nest import Reduction, match_nest
from ..steps import (
    NARROWEST_VECTOR,
    interleave,
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

WINDOW_UNROLL = 25
"""Windows of up to this many elements are unrolled, so that neighbours share loads and border guards are decided."""

NEIGHBOURS = 4
"""Outputs along a row that are computed together."""

LINES = 2
"""Rows of outputs that are computed together."""


def schedule_reduction(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    stmt = partition(stmt, list(nest.loops[:-1]))
    return each_nest(stmt, lambda s: _schedule(s, target))


def _schedule(stmt: Stmt, target: Target) -> Stmt:
    nest = match_nest(stmt)
    if not isinstance(nest, Reduction):
        return stmt
    window = 1
    for v in nest.over:
        window *= v.extent
    if nest.loops and nest.loops[-1].extent >= NARROWEST_VECTOR and vectorisable(stmt, nest.loops[-1]):
        return _lanes_across(stmt, nest, window, target)
    if nest.over and _contiguous_over(nest, nest.over[-1], target):
        return _lanes_along(stmt, nest, target)
    return stmt


def _lanes_across(stmt: Stmt, nest: Reduction, window: int, target: Target) -> Stmt:
    """Lanes are neighbouring outputs."""
    lane_loop = nest.loops[-1]
    stmt, pairs = split(stmt, lane_loop, vector_segments(lane_loop.extent, target.lanes))
    if window > WINDOW_UNROLL:
        for _, inner in pairs:
            stmt = vectorise(sink(stmt, inner), inner, target.lanes)
        return simplify_stmt(outline(stmt))
    for place, size in ((-3, _lines(nest, target)), (-2, NEIGHBOURS)):
        if len(nest.loops) >= -place and size > 1:
            stmt, tiles = split(stmt, nest.loops[place], segments(nest.loops[place].extent, size, balanced=True))
            for _, inner in tiles:
                stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    for _, inner in pairs:
        stmt = vectorise(sink(stmt, inner), inner, target.lanes)
    for v in nest.over:
        stmt = tag(stmt, v, LoopKind.UNROLL)
    stmt = outline(stmt, around=tuple(outer for outer, _ in pairs))
    return interleave(simplify_stmt(stmt))


def _lines(nest: Reduction, target: Target) -> int:
    """How many lines of outputs share a tile: those whose windows overlap, if a row of the window for each fits the
    registers beside the sums."""
    if len(nest.loops) < 3 or not nest.over:
        return 1
    line = nest.loops[-3]
    overlap = any(
        line in free_vars(i) and any(v in free_vars(i) for v in nest.over) for x in loads(nest.value) for i in x.indices
    )
    fits = LINES * (NEIGHBOURS + nest.over[-1].extent) <= target.registers
    return LINES if overlap and fits else 1


def _contiguous_over(nest: Reduction, var: Var, target: Target) -> bool:
    if var.extent < 2 * target.lanes or nest.acc.dtype not in (F32, I32):
        return False
    return vectorisable_value(nest, var)


def vectorisable_value(nest: Reduction, var: Var) -> bool:
    """Whether the reduced value can be computed for several `var` at once."""
    return vectorisable(nest.value, var) and any(a.step(var) == 1 for a in accesses(nest.value))


def _lanes_along(stmt: Stmt, nest: Reduction, target: Target) -> Stmt:
    """Lanes are neighbouring elements of one reduction."""
    return simplify_stmt(outline(rfactor(stmt, nest.over[-1], target.lanes, neutral(nest.op, nest.acc))))


def neutral(op: str, acc: Buffer) -> Const:
    """What `op` leaves any other operand unchanged with."""
    value: int | float = {"+": 0, "*": 1, "max": lowest(acc.dtype), "min": highest(acc.dtype)}[op]
    return Const(float(value) if acc.dtype.is_float else value, acc.dtype)
