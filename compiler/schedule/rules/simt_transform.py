"""Linear transforms of small tiles on a GPU: an invocation transforms a tile of one channel, or of four.

All intermediates are unrolled values of the invocation: a tile of 6 x 6 is 36 loads, some 12 x 13 operations and 36
stores. A row of results per invocation instead would load all of the tile for each row, six times as much. All elements
of a tile are held at once: vectors of four where an invocation has registers enough, else elements. Neighbouring
invocations take neighbouring channels, so a wave's loads and stores are coalesced either way.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...choices import Choices
from ...ir.construct import all_of
from ...ir.nest import Reduction
from ...ir.nodes import Const, Expr, For, Stmt, Var
from ...target import LANES, GpuTarget
from ..linear_map import Lines
from .simt_pointwise import choose_workgroup, spread_flat
from .transform import Axis, Part, Tile, TransformLoops

HELD = 16
"""Vectors of four that a tile may take: half of the 128 registers at which half of the waves of a GPU fit."""


def simt_transform(nest: Reduction, t: TransformLoops, target: GpuTarget, choices: Choices) -> Stmt:
    """for i < 6: for j < 6: for t: for c: sum over a, b   ->   for t, c in a grid: all i, j of one tile and channel"""
    rows, columns = (
        Part(Var(f"{a.out.name}o", -(-a.out.extent // len(a.matrix))), len(a.matrix), 0) for a in (t.rows, t.columns)
    )
    tile = Tile(nest, t, (rows, columns), {})
    elements = t.rows.over.extent * t.columns.over.extent
    tiles = {t.rows.out: rows.tile, t.columns.out: columns.tile}
    loops = [tiles.get(v, v) for v in nest.loops]
    lane = nest.loops[-1]
    env: dict[Var, Expr] = {}
    inner = None
    held = max(elements, rows.size * columns.size) <= HELD
    # The stores of a last tile with fewer results are conditional, which a vector loop does not hold.
    whole = not t.rows.out.extent % rows.size and not t.columns.out.extent % columns.size
    if (
        held
        and whole
        and lane.extent % LANES == 0
        and tile.fills_lanes(lane)
        and choices.choose("vectors", [True, False])
    ):
        outer, inner = Var(f"{lane.name}o", lane.extent // LANES), Var(f"{lane.name}i", LANES)
        env[lane] = outer * LANES + inner
        loops[-1] = outer
    body = _tile(tile, env, inner)
    for v in reversed(loops):
        body = For(v, body)
    return spread_flat(body, len(loops), choose_workgroup(target, choices))


def _tile(tile: Tile, env: dict[Var, Expr], lane: Var | None) -> Stmt:
    """Columns of elements are transformed before rows; results beyond the ends are not stored."""
    t = tile.transform
    lines = Lines(lane if lane is not None else Const(0))
    half: list[list[Expr]] = []
    for b in range(t.columns.over.extent):
        column = [lines.let(tile.element(Const(a), Const(b), env)) for a in range(t.rows.over.extent)]
        half.append([lines.let(e) for e in lines.transform(t.rows.matrix, column)])
    rows, columns = tile.parts
    for i in range(rows.size):
        results = lines.transform(t.columns.matrix, [column[i] for column in half])
        for j, value in enumerate(results):
            inside = [*_inside(t.rows, rows, i), *_inside(t.columns, columns, j)]
            lines.store(tile.store(Const(i), Const(j), lines.let(value), env), all_of(*inside) if inside else None)
    return lines.statement(lane)


def _inside(axis: Axis, part: Part, i: int) -> Iterator[Expr]:
    """The condition that result `i` of a tile exists, where the last tile has fewer."""
    rest = axis.out.extent % part.size
    if rest and i >= rest:
        yield part.at(Const(i)) < axis.out.extent
