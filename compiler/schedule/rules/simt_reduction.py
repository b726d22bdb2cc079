"""Reductions without reuse between operands on a GPU: pooling, depthwise convolution, sums and maxima; products whose
operands are both contiguous along the sum.

One invocation computes the outputs of one vector of neighbouring elements (channels), and along a row a few more where
windows overlap: with the window unrolled, neighbours share its loads. Where the outputs are not contiguous but the
operands are, an invocation reduces vectors; of a product (queries by a cache's keys) a tile of them, 4 x 4 results
by 8 loads of vectors, where one result takes 2.
"""

from __future__ import annotations

from math import prod

from ...choices import Choices, ordered
from ...ir.contraction import find_contraction
from ...ir.nest import Reduction
from ...ir.nodes import LoopKind, Stmt, Var
from ...ir.reduction import neutral
from ...ir.simplify import simplify_stmt
from ...target import LANES, GpuTarget
from ..access import accesses, vectorisable
from ..steps import rfactor, rounded, sink, split, tag, vectorise
from .merge_reduction import merge_reduction
from .simt_contraction import tile_rows
from .simt_pointwise import choose_workgroup, spread_flat

WINDOW_UNROLL = 25
"""Windows of up to this many elements are unrolled."""

LARGEST_UNROLL = 64
"""Elements of a window that a choice may unroll."""

NEIGHBOURS = (4, 3, 2)
"""Outputs along a row that one invocation may compute: each tap is then used up to four times."""

TILES = ((4, 4), (2, 4), (2, 2))
"""Results of an invocation along the two axes of a product."""


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
            tiled = _tile_product(merged, inner, target, choices)
            stmt = rfactor(tiled, inner.over[-1], LANES, neutral(inner.op, inner.acc.dtype))
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


def _tile_product(stmt: Stmt, nest: Reduction, target: GpuTarget, choices: Choices) -> Stmt:
    """A product over a tile of results, where such tiles are enough to occupy the device."""
    loops = _axes_of_product(nest)
    if loops is None:
        return stmt
    outputs = prod(v.extent for v in nest.loops)
    fitting = [t for t in TILES if all(v.extent >= n for v, n in zip(loops, t, strict=True))]
    preferred = next((t for t in fitting if outputs >= prod(t) * target.minimum_occupancy), (1, 1))
    tile: tuple[int, int] = choices.choose("results", ordered(preferred, [(1, 1), *fitting]))
    for v, size in zip(loops, tile, strict=True):
        if size > 1:
            stmt, inner = tile_rows(stmt, v, size)
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    return stmt


def _axes_of_product(nest: Reduction) -> tuple[Var, Var] | None:
    """The axes of the results, each of which moves one operand alone; None where the nest is no product of two."""
    contraction = find_contraction(nest.loops, nest.over, nest.value)
    if contraction is None or not contraction.rows or not contraction.columns:
        return None
    return contraction.rows[-1], contraction.columns[-1]


def _is_contiguous(nest: Reduction) -> bool:
    """Whether lanes can be neighbouring elements of one reduction: its operands are contiguous."""
    if not nest.over or nest.over[-1].extent < 2 * LANES or not vectorisable(nest.value, nest.over[-1]):
        return False
    return any(a.stride(nest.over[-1]) == 1 for a in accesses(nest.value))
