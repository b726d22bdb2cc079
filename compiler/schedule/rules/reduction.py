"""Reductions without reuse between operands: pooling, depthwise convolution, sums and maxima.

Where the innermost parallel loop is contiguous its elements fill the lanes, and a few neighbours are computed together,
so that they share the loads of overlapping windows. The rows of a window stay a loop: fully unrolled, LLVM would load
all operands of a tile before its first multiplication, for wasm, which is more than a browser has registers for (3x3
windows on eight outputs: 6 instead of 10 cycles a vector). All channels of such a tile are one function: a call for
four would cost more than their arithmetic. Where the loop is not contiguous, but the reduction runs over contiguous
elements, each lane keeps a partial result.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...choices import Choices, ordered
from ...ir.nest import Nest, Reduction
from ...ir.nodes import LoopKind, Stmt, Store, Var
from ...ir.reduction import neutral
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import accesses, vectorisable
from ..steps import (
    NARROWEST_VECTOR,
    outline,
    partition,
    powers_below,
    reorder,
    rfactor,
    segments,
    sink,
    split,
    tag,
    tiles_of,
    vectorise,
    vectors_of,
)
from .each_nest import each_nest
from .merge_reduction import merge_reduction
from .roles import SUMS, order_reduction
from .sink_columns import sink_columns

WINDOW_UNROLL = 16
"""Windows of up to this many elements are unrolled where neighbours share no loads."""

LARGEST_UNROLL = 64
"""Elements of a window that a choice may unroll."""

LONG_COLUMN = 64
"""Elements of a column that stay in no cache where their lines share sets."""

PARTIAL, LEAST_PARTIAL = 4, 8
"""Vectors of partial results, and the least updates of each."""

ROWS = 2
"""Rows that are reduced together, each along its elements. More are not read in the order of memory: four rows of 64
elements take 1.3 to 1.5 times as long where they come from there (Zen 4)."""

CALL = 4096
"""Elements that one function reduces, in whole rows."""

NEIGHBOURS = 4
"""Outputs along a row that are computed together; twice as many where they share loads."""


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """So many `neighbours` along a row are computed together, in so many `vectors` each, the innermost `unrolled`
    reduction loops unrolled; `outlined`: all channels of a tile are one function."""

    neighbours: int
    vectors: int
    unrolled: int
    outlined: bool


def schedule_reduction(stmt: Stmt, nest: Reduction, target: Target, choices: Choices) -> Stmt:
    stmt = partition(stmt, list(nest.loops if _is_row(stmt, nest) else nest.loops[:-1]))
    return each_nest(stmt, lambda s, n, c: _schedule(s, n, target, c), choices)


def _is_row(stmt: Stmt, nest: Reduction) -> bool:
    """Whether neighbours in the innermost loop are neighbours in memory, apart from guards."""
    if not nest.loops or nest.loops[-1].extent < NARROWEST_VECTOR:
        return False
    lane = nest.loops[-1]
    return all(a.stride(lane) in ((1,) if isinstance(a.node, Store) else (0, 1)) for a in accesses(stmt))


def _schedule(stmt: Stmt, nest: Nest, target: Target, choices: Choices) -> Stmt:
    """In vectors across neighbouring outputs, else along one reduction, else scalar."""
    if not isinstance(nest, Reduction):
        return stmt
    merged, inner = merge_reduction(stmt)
    if not nest.loops and inner.over and not lies_along(inner, target):
        merged, inner = merge_reduction(_in_memory_order(merged, inner))
    ways = ["none"]
    if lies_along(inner, target):
        ways.insert(0, "along")
    if nest.loops and nest.loops[-1].extent >= NARROWEST_VECTOR and vectorisable(stmt, nest.loops[-1]):
        ways.insert(0, "across")
    match choices.choose("lanes", ways):
        case "across":
            return _lanes_across(stmt, nest, _plan_window(nest, target, choices), target)
        case "along":
            return _lanes_along(merged, inner, target, choices)
    return stmt


def _lanes_along(stmt: Stmt, nest: Reduction, target: Target, choices: Choices) -> Stmt:
    """Lanes are elements of one reduction. A few rows are reduced together, and a function does so for several of them:
    a call takes as long as dozens of elements."""
    over, zero = nest.over[-1], neutral(nest.op, nest.acc.dtype)
    if not nest.loops:
        return simplify_stmt(outline(rfactor(stmt, over, target.lanes, zero, _partial(nest, target, PARTIAL))))
    row = nest.loops[-1]
    rows = choices.choose("rows", ordered(min(ROWS, row.extent), [n for n in (1, 2, 4) if n <= row.extent]))
    stmt, tiles = split(stmt, row, tiles_of(row, rows))
    for _, inner in tiles:
        stmt = sink(stmt, inner)
    stmt = rfactor(stmt, over, target.lanes, zero, _partial(nest, target, PARTIAL // rows))
    for _, inner in tiles:
        stmt = tag(stmt, inner, LoopKind.UNROLL)
    around: list[Var] = []
    most = min(CALL // _count(nest.over), _count(nest.loops) // target.costs.parallel_iterations) // rows
    if most > 1:
        outer, _ = tiles[0]
        stmt, blocks = split(stmt, outer, tiles_of(outer, most))
        around = [inside for _, inside in blocks if inside.extent > 1]
    return simplify_stmt(outline(stmt, around=tuple(around)))


def _partial(nest: Reduction, target: Target, most: int) -> int:
    """The vectors of partial results: several for many elements, since an update waits for the one before."""
    many = nest.over[-1].extent >= LEAST_PARTIAL * most * target.lanes
    return most if many and not nest.over[:-1] else 1


def _in_memory_order(stmt: Stmt, nest: Reduction) -> Stmt:
    """The reduction of a whole tensor, in the order of its elements in memory."""
    order = order_reduction(nest, nest.value)
    return simplify_stmt(reorder(stmt, order)) if len(order) > 1 else stmt


def _lanes_across(stmt: Stmt, nest: Reduction, plan: WindowPlan, target: Target) -> Stmt:
    """Lanes are neighbouring outputs."""
    lane_loop = nest.loops[-1]
    if plan.vectors > 1:
        return _in_vectors(stmt, lane_loop, plan.vectors, target)
    stmt, pairs = split(stmt, lane_loop, vectors_of(lane_loop, target.lanes))
    if plan.neighbours > 1:
        row = nest.loops[-2]
        stmt, tiles = split(stmt, row, tiles_of(row, plan.neighbours, powers_below(plan.neighbours), balanced=True))
        for _, inner in tiles:
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    for _, inner in pairs:
        stmt = vectorise(sink(stmt, inner), inner, target.lanes)
    for v in nest.over[len(nest.over) - plan.unrolled :]:
        stmt = tag(stmt, v, LoopKind.UNROLL)
    return simplify_stmt(outline(stmt, around=tuple(outer for outer, _ in pairs) if plan.outlined else ()))


def _in_vectors(stmt: Stmt, lane_loop: Var, vectors: int, target: Target) -> Stmt:
    """Several vectors of neighbouring outputs together: one line of memory has their operands."""
    stmt, tiles = split(stmt, lane_loop, segments(lane_loop.extent, vectors * target.lanes))
    stmt = sink_columns(stmt, (inner for _, inner in tiles), target.lanes)
    return simplify_stmt(outline(stmt))


def _plan_window(nest: Reduction, target: Target, choices: Choices) -> WindowPlan:
    neighbours, unrolled = _window(nest, target)
    short = _count(nest.over) <= WINDOW_UNROLL
    if len(nest.loops) > 1:
        sizes = [n for n in (1, 2, 4, 8) if n <= nest.loops[-2].extent and n < target.registers]
        neighbours = choices.choose("neighbours", ordered(neighbours, sizes))
    fixed = next((n for n, v in enumerate(reversed(nest.over)) if v.length is not None), len(nest.over))
    unrolled = min(unrolled, fixed)
    counts = [n for n in range(fixed + 1) if _count(nest.over[len(nest.over) - n :]) <= LARGEST_UNROLL]
    unrolled = choices.choose("unrolled", ordered(unrolled, counts))
    vectors, columns = 1, nest.loops[-1].extent
    if neighbours == 1 and _is_apart(nest, target):
        vectors = choices.choose("vectors", [n for n in (4, 2, 1) if n == 1 or n * target.lanes <= columns])
    # The loop over the channels of a tile is part of its function, unless the function is long enough without.
    return WindowPlan(neighbours, vectors, unrolled, choices.choose("outlined", [short, not short]))


def _window(nest: Reduction, target: Target) -> tuple[int, int]:
    """The default number of neighbours computed together, and of unrolled reduction loops."""
    short, every = _count(nest.over) <= WINDOW_UNROLL, len(nest.over)
    if len(nest.loops) < 2:
        return 1, every if short else 0
    if short and any(x.guard is not None for x in loads(nest.value)):
        return NEIGHBOURS, every
    if nest.over and nest.over[-1].extent <= WINDOW_UNROLL and _overlaps(nest, nest.loops[-2]):
        weights = any(x.buffer.constant for x in loads(nest.value))
        beside = nest.over[-1].extent if weights else 0
        return max(NEIGHBOURS, min(2 * NEIGHBOURS, target.registers - beside - 1)), 1
    return (NEIGHBOURS, every) if short else (1, 0)


def _is_apart(nest: Reduction, target: Target) -> bool:
    """Whether a column's elements are many, and so far apart that their lines displace each other in a cache: then all
    of a line is read at once."""
    if _count(nest.over) < LONG_COLUMN or nest.loops[-1].length is not None:
        return False
    last = nest.over[-1]
    return any(target.costs.conflicts((a.stride(last) or 0) * a.node.buffer.dtype.bytes) for a in accesses(nest.value))


def _overlaps(nest: Reduction, row: Var) -> bool:
    """Whether the windows of neighbours in `row` share elements."""
    indices = [i for x in loads(nest.value) for i in x.indices]
    return any(row in free_vars(i) and any(v in free_vars(i) for v in nest.over) for i in indices)


def _count(loops: tuple[Var, ...]) -> int:
    return prod(v.extent for v in loops)


def lies_along(nest: Reduction, target: Target) -> bool:
    """Whether lanes can be neighbouring elements of one reduction: its operands are contiguous along its last loop."""
    if not nest.over or nest.over[-1].extent < 2 * target.lanes or nest.acc.dtype not in SUMS:
        return False
    last = nest.over[-1]
    return vectorisable(nest.value, last) and any(a.stride(last) == 1 for a in accesses(nest.value))
