"""Reductions without reuse between operands on a GPU: pooling, depthwise convolution, sums and maxima.

One invocation computes the outputs of one vector of neighbouring elements (channels), and along a row a few more where
windows overlap: with the window unrolled, neighbours share its loads. Where the outputs are not contiguous but the
operands are, an invocation reduces vectors.
"""

from __future__ import annotations

from math import prod

from ...choices import Choices, ordered
from ...ir.nest import Reduction
from ...ir.nodes import LoopKind, Stmt
from ...ir.reduction import neutral
from ...ir.simplify import simplify_stmt
from ...target import LANES, GpuTarget
from ..access import accesses, vectorisable
from ..steps import rfactor, rounded, sink, split, tag, vectorise
from .merge_reduction import merge_reduction
from .simt_pointwise import choose_workgroup, spread_flat

WINDOW_UNROLL = 25
"""Windows of up to this many elements are unrolled."""

LARGEST_UNROLL = 64
"""Elements of a window that a choice may unroll."""

NEIGHBOURS = (4, 3, 2)
"""Outputs along a row that one invocation may compute: each tap is then used up to four times."""


def simt_reduction(stmt: Stmt, nest: Reduction, target: GpuTarget, choices: Choices) -> Stmt:
    """Tiles along rows shrink where the invocations would be fewer than the minimum occupancy."""
    merged, inner = merge_reduction(stmt)
    ways = ["none"]
    if _is_contiguous(inner):
        ways.insert(0, "along")
    if nest.loops and nest.loops[-1].extent % LANES == 0 and vectorisable(stmt, nest.loops[-1]):
        ways.insert(0, "across")
    match choices.choose("lanes", ways):
        case "across":
            stmt = _across(stmt, nest, target, choices)
        case "along":
            stmt = rfactor(merged, inner.over[-1], LANES, neutral(inner.op, inner.acc.dtype))
    if not nest.loops:
        return simplify_stmt(stmt)
    return spread_flat(stmt, len(nest.loops), choose_workgroup(target, choices))


def _across(stmt: Stmt, nest: Reduction, target: GpuTarget, choices: Choices) -> Stmt:
    """Lanes are neighbouring outputs."""
    window, outputs = prod(v.extent for v in nest.over), prod(v.extent for v in nest.loops)
    stmt, ((_, lane),) = split(stmt, nest.loops[-1], [rounded(nest.loops[-1], LANES)])
    if len(nest.loops) > 1 and 1 < window <= LARGEST_UNROLL:
        row = nest.loops[-2]
        sizes = [n for n in NEIGHBOURS if row.extent % n == 0]
        occupied = (n for n in sizes if outputs // LANES // n >= target.minimum_occupancy)
        preferred = next(occupied, 1) if window <= WINDOW_UNROLL else 1
        size = choices.choose("neighbours", ordered(preferred, [1, *sizes]))
        if size > 1:
            stmt, ((_, inner),) = split(stmt, row, [rounded(row, size)])
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    fixed = all(v.length is None for v in nest.over)
    short = fixed and window <= WINDOW_UNROLL
    if choices.choose("unrolled", [short, not short] if fixed and window <= LARGEST_UNROLL else [False]):
        for v in nest.over:
            stmt = tag(stmt, v, LoopKind.UNROLL)
    return vectorise(sink(stmt, lane), lane, LANES)


def _is_contiguous(nest: Reduction) -> bool:
    """Whether lanes can be neighbouring elements of one reduction: its operands are contiguous."""
    if not nest.over or nest.over[-1].extent < 2 * LANES or not vectorisable(nest.value, nest.over[-1]):
        return False
    return any(a.stride(nest.over[-1]) == 1 for a in accesses(nest.value))
