"""Reductions without reuse between operands on a GPU: pooling, depthwise convolution, sums and maxima.

One invocation computes the outputs of one vector of neighbouring elements (channels), and along a row a few more where
windows overlap: with the window unrolled, neighbours share its loads. Where outputs are not contiguous but what is
reduced is, an invocation adds up vectors.
"""

from __future__ import annotations

from ...ir.nodes import LoopKind, Stmt
from ...ir.reduction import neutral
from ...ir.simplify import simplify_stmt
from ..access import accesses, vectorisable
from ..nest import Reduction, match_nest
from ..steps import rfactor, sink, split, tag, vectorise
from .merge_reduction import merge_reduction
from .simt_pointwise import LANES, spread_flat

WINDOW_UNROLL = 25
"""Windows of up to this many elements are unrolled."""

NEIGHBOURS = (4, 3, 2)
"""Outputs along a row that one invocation may compute: each tap is then used up to four times."""


def simt_reduction(stmt: Stmt, busy: int) -> Stmt:
    """`busy` invocations are wanted; tiles along rows shrink before they are undercut."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    if not nest.loops:
        return simplify_stmt(_along(stmt))
    loops = len(nest.loops)
    lane = nest.loops[-1]
    if lane.extent % LANES == 0 and vectorisable(stmt, lane):
        stmt = _across(stmt, nest, busy)
        return spread_flat(stmt, loops)
    return spread_flat(_along(stmt), loops)


def _across(stmt: Stmt, nest: Reduction, busy: int) -> Stmt:
    """Lanes are neighbouring outputs."""
    window = 1
    for v in nest.over:
        window *= v.extent
    stmt, ((_, lane),) = split(stmt, nest.loops[-1], [(nest.loops[-1].extent // LANES, LANES)])
    outputs = 1
    for v in nest.loops:
        outputs *= v.extent
    if window <= WINDOW_UNROLL:
        if len(nest.loops) > 1 and window > 1:
            row = nest.loops[-2]
            size = next((n for n in NEIGHBOURS if row.extent % n == 0 and outputs // LANES // n >= busy), 1)
            if size > 1:
                stmt, ((_, inner),) = split(stmt, row, [(row.extent // size, size)])
                stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
        for v in nest.over:
            stmt = tag(stmt, v, LoopKind.UNROLL)
    return vectorise(sink(stmt, lane), lane, LANES)


def _along(stmt: Stmt) -> Stmt:
    """Lanes are neighbouring elements of one reduction, where those lie together."""
    merged = merge_reduction(stmt)
    nest = match_nest(merged)
    assert isinstance(nest, Reduction)
    if not nest.over or nest.over[-1].extent < 2 * LANES or not vectorisable(nest.value, nest.over[-1]):
        return stmt
    if not any(a.step(nest.over[-1]) == 1 for a in accesses(nest.value)):
        return stmt
    return rfactor(merged, nest.over[-1], LANES, neutral(nest.op, nest.acc.dtype))
