"""Contractions (convolution, matrix product) on a GPU: an invocation computes a tile of rows x vectors of four columns.

Rows are output positions along a line, columns output channels. Per four channels of the input (one vec4 of each
position) an invocation makes rows * columns * 4 multiply-adds for rows + columns loads of vectors: 7 x 2 vectors need
15 loads for 56 products of vectors. Where windows overlap, the positions under a row of the kernel are loaded once for
all rows of the tile. Kernel rows and channel groups are loops, kernel columns and the four channels are written out.

A workgroup is eight invocations wide along columns, which read neighbouring vectors of the weights, by eight along
rows, which read the same ones: those are packed in panels as wide as the workgroup. Where there are fewer rows, it is
wider: all of a wave's lanes have work, and read one run of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...ir.nodes import Buffer, LoopKind, Stmt, Var
from ...ir.simplify import simplify_stmt
from ...target import GpuTarget
from ..access import accesses
from ..nest import Reduction, match_nest
from ..steps import extend, overlap, pack, reorder, sink, split, spread, tag, vectorise
from .contraction import Roles, find_roles, merge_rows, order_reduction, panels_of
from .simt_pointwise import LANES, fuse_outer

WORKGROUP = 64
WIDTH = 8
"""Invocations of a workgroup, and how many of them lie along columns where there are rows enough."""

FETCHES = 64
"""Loads written out in one iteration: with more, shader compilers take seconds and registers spill."""

REGISTERS = 32
"""Vectors of four that an invocation may hold: on a real GPU 128 registers, at which half of the waves fit."""

LOAD_COST = 2
"""Of a load of a vector, in multiply-adds of vectors."""


@dataclass(frozen=True, slots=True)
class Tile:
    """`rows` positions by `groups` vectors of columns."""

    rows: int
    groups: int


def simt_contraction(stmt: Stmt, target: GpuTarget) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """The tiled nest, and the constant that was packed with what takes its place."""
    stmt = merge_rows(stmt)
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    roles = find_roles(nest)
    assert roles is not None
    over = order_reduction(nest, roles)
    tile = choose_tile(nest, roles, over, target)
    groups = -(-roles.column.extent // LANES)
    across = -(-groups // tile.groups)
    width = _width(across, WORKGROUP // min(WORKGROUP // WIDTH, _lines(nest, roles, tile)))
    packed: dict[Buffer, Buffer] = {}
    if roles.b.buffer.constant:
        layout = panels_of(roles.b, roles.column, over, LANES * tile.groups * width)
        stmt, packed[roles.b.buffer] = pack(stmt, roles.b.buffer, layout)
        stmt = simplify_stmt(stmt)
    stmt = _order(stmt, nest, roles, over)
    padded = [b for old, b in packed.items() if b.layout is not None and b.layout.blocks]
    stmt, column = _tile_columns(stmt, roles.column, tile.groups, padded)
    if roles.row is not None and tile.rows > 1:
        stmt, (_, inner) = overlap(stmt, roles.row, tile.rows)
        stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    stmt = _unroll_reduction(stmt, nest, over, tile, _stride(nest, roles))
    threads = [width]
    if len(nest.loops) > 1:
        stmt, line = fuse_outer(stmt, len(nest.loops) - 1)
        threads.insert(0, min(WORKGROUP // width, line.extent))
    # Only in the grid is it plain that an invocation's columns lie in one panel: so lanes come last.
    return simplify_stmt(_sink_columns(spread(stmt, threads), column)), packed


def choose_tile(nest: Reduction, roles: Roles, over: list[Var], target: GpuTarget) -> Tile:
    """The tile for which all invocations cost least together, in products of vectors; `busy` are paid anyway."""
    rows = roles.row.extent if roles.row is not None else 1
    groups = -(-roles.column.extent // LANES)
    others = 1
    for v in nest.loops:
        if v not in (roles.row, roles.column):
            others *= v.extent
    taps = over[-2].extent if len(over) > 1 else 1
    stride = _stride(nest, roles)

    def cost(t: Tile) -> float:
        tiles = -(-rows // t.rows) * -(-groups // t.groups) * others
        positions = _positions(t.rows, taps, stride)
        each = t.rows * t.groups * LANES * taps + LOAD_COST * (positions + t.groups * LANES * taps)
        if t.rows * t.groups + min(positions, 4 * t.rows) > REGISTERS:
            each *= 2
        return max(tiles, target.busy) * each

    sizes = [Tile(r, g) for g in (2, 1) for r in range(min(8, rows), 0, -1) if g <= groups]
    return min(sizes, key=cost)


def _positions(rows: int, taps: int, stride: int) -> int:
    """Distinct positions of the input under one row of the kernel."""
    return min((rows - 1) * stride + taps, rows * taps)


def _stride(nest: Reduction, roles: Roles) -> int:
    """Positions of A by which neighbouring rows of the tile are apart."""
    if roles.row is None or len(nest.over) < 2:
        return 1
    taps = order_reduction(nest, roles)[-2]
    for a in accesses(roles.a):
        along, across = a.step(roles.row), a.step(taps)
        if along and across:
            return max(1, along // across)
    return 1


def _lines(nest: Reduction, roles: Roles, tile: Tile) -> int:
    """Tiles one above the other."""
    rows = 1 if roles.row is None else -(-roles.row.extent // tile.rows)
    return rows * prod(v.extent for v in nest.loops if v not in (roles.row, roles.column))


def _width(across: int, most: int) -> int:
    """Invocations along columns: as many as leave the fewest without work."""
    return min(range(min(most, across), 0, -1), key=lambda w: -(-across // w) * w - w / 16)


def _order(stmt: Stmt, nest: Reduction, roles: Roles, over: list[Var]) -> Stmt:
    """Parallel loops: rows, then columns; reduction loops: kernel rows, channels, kernel columns."""
    rest = [v for v in nest.loops if v not in (roles.row, roles.column)]
    order = [*rest, *([] if roles.row is None else [roles.row]), roles.column]
    if len(order) > 1:
        stmt = reorder(stmt, order)
    inner = [*over[:-2], *reversed(over[-2:])]
    return reorder(stmt, inner) if len(inner) > 1 else stmt


def _tile_columns(stmt: Stmt, column: Var, groups: int, padded: list[Buffer]) -> tuple[Stmt, tuple[Var, Var]]:
    """Columns as tiles x groups x lanes; returns the loops over groups and lanes."""
    if column.extent % LANES:
        stmt, column = extend(stmt, column, -(-column.extent // LANES) * LANES, padded)
    stmt, ((outer, lane),) = split(stmt, column, [(column.extent // LANES, LANES)])
    stmt, outer = extend(stmt, outer, -(-outer.extent // groups) * groups, padded)
    stmt, ((_, group),) = split(stmt, outer, [(outer.extent // groups, groups)])
    return stmt, (group, lane)


def _sink_columns(stmt: Stmt, column: tuple[Var, Var]) -> Stmt:
    group, lane = column
    stmt = tag(sink(stmt, group), group, LoopKind.UNROLL)
    return vectorise(sink(stmt, lane), lane, LANES)


def _unroll_reduction(stmt: Stmt, nest: Reduction, over: list[Var], tile: Tile, stride: int) -> Stmt:
    """Four channels are written out, and kernel columns, as far as that keeps to FETCHES."""
    if not over:
        return stmt
    channel = over[-1]
    whole, rest = divmod(channel.extent, LANES)
    stmt, parts = split(stmt, channel, [(n, s) for n, s in ((whole, LANES), (1, rest)) if n and s])
    for _, inner in parts:
        stmt = tag(stmt, inner, LoopKind.UNROLL)
    if len(over) > 1:
        taps = over[-2].extent
        if _positions(tile.rows, taps, stride) + tile.groups * min(LANES, channel.extent) * taps <= FETCHES:
            stmt = tag(stmt, over[-2], LoopKind.UNROLL)
    return stmt
