"""Sums of products of words (`ops/quantisation/packed_products`) on a CPU: a register tile of rows x vectors.

The vectors of a tile share the words of a row, its rows the weights, taken apart. Sums of one span are registers, too.
"""

from __future__ import annotations

from ...choices import Choices, ordered
from ...ir.nest import Reduction
from ...ir.nodes import Binary, LoopKind, Stmt, Var
from ...ir.rewrite import free_vars, loads, walk
from ...ir.scalar_ops import QUADS
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import vectorisable
from ..steps import outline, powers_below, reorder, segments, sink, split, tag, tiles_of
from .sink_columns import sink_columns

TILE = 4
"""Vectors of sums."""


def multiplies_words(nest: Reduction) -> bool:
    """Whether its elements are sums of products of words."""
    return any(isinstance(n, Binary) and n.op == QUADS for n in walk(nest.value))


def sums_words(stmt: Stmt, nest: Reduction, target: Target) -> bool:
    """Whether the nest sums products of words, for columns that make whole vectors."""
    if not nest.loops or nest.loops[-1].extent % target.lanes or not vectorisable(stmt, nest.loops[-1]):
        return False
    return multiplies_words(nest)


def schedule_word_sums(stmt: Stmt, nest: Reduction, target: Target, choices: Choices) -> Stmt:
    weights = [x for x in loads(nest.value) if x.buffer.constant]
    moving = frozenset[Var]().union(*(free_vars(x) for x in weights))
    rows = [v for v in nest.loops if v not in moving]
    *panels, column = (v for v in nest.loops if v in moving)
    if rows:
        stmt = reorder(stmt, [*panels, *rows, column])
    most = column.extent // target.lanes
    fitting = [n for n in (4, 2, 1) if n <= most]
    several = bool(rows) and rows[-1].length is None  # where rows vary, most runs have one
    vectors = choices.choose("vectors", ordered(min(TILE // 2 if several else TILE, most), fitting))
    if rows:
        height = choices.choose("rows", ordered(TILE // vectors, [1, 2, 4]))
        stmt, tiles = split(stmt, rows[-1], tiles_of(rows[-1], height, powers_below(height), balanced=True))
        for _, inner in tiles:
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    stmt, parts = split(stmt, column, segments(column.extent, vectors * target.lanes))
    return simplify_stmt(outline(sink_columns(stmt, (inner for _, inner in parts), target.lanes)))
