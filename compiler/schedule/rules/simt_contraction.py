"""Contractions (convolution, matrix product) on a GPU: an invocation computes a tile of rows x vectors of four columns.

Rows are output positions along a line, columns output channels. Per four channels of the input (one vec4 of each
position) an invocation makes rows * columns * 4 multiply-adds for rows + columns loads of vectors: 7 x 2 vectors take
15 loads for 56 products of vectors. Where windows overlap, the positions under a row of the kernel are loaded once for
all rows of the tile. Kernel rows and channel groups are loops, kernel columns and the four channels are unrolled.

A workgroup is eight invocations wide along columns, which read neighbouring vectors of the weights, by eight along
rows, which read the same ones: those are packed in panels as wide as the workgroup. Where there are fewer rows, it is
wider: no lane of a wave is idle, and its loads are coalesced.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ...choices import Choices, ordered
from ...ir.nest import Reduction
from ...ir.nodes import Buffer, LoopKind, Stmt, Var
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ...target import LANES, GpuTarget
from ..access import accesses
from ..steps import extend, overlap, pack, reorder, rounded, sink, split, spread, tag, tiles_of, vectorise
from .panel_layout import begins_panel, panels_of
from .roles import Roles, merge_rows, order_reduction
from .simt_pointwise import fuse_outer

WORKGROUP = 64
WIDTH = 8
"""Invocations of a workgroup, and how many of them are along columns where there are enough rows."""

FETCHES = 64
"""Unrolled loads in one iteration: with more, shader compilers take seconds and registers spill."""

REGISTERS = 32
"""Vectors of four that an invocation may hold: on a real GPU 128 registers, at which half of the waves fit."""

LOAD_COST = 2
"""Cost of a load of a vector, in multiply-adds of vectors."""


@dataclass(frozen=True, slots=True)
class SimtPlan:
    """An invocation computes `rows` positions by `groups` vectors of columns; a workgroup has `width` invocations along
    columns by up to `height` along rows. `over` is the order of the reduction loops; `taps`: kernel columns are
    unrolled; `stride`: the distance of neighbouring rows of the tile in positions of A."""

    rows: int
    groups: int
    width: int
    height: int
    over: tuple[Var, ...]
    stride: int
    taps: bool


def simt_contraction(stmt: Stmt, target: GpuTarget, choices: Choices) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """The tiled nest, and the constant that was packed with its packed version."""
    stmt, nest, roles = merge_rows(stmt)
    return _tile(stmt, nest, roles, plan_simt(nest, roles, target, choices))


def plan_simt(nest: Reduction, roles: Roles, target: GpuTarget, choices: Choices) -> SimtPlan:
    over = order_reduction(nest, roles.a)
    stride = _stride(nest, roles)
    rows, groups = choices.choose("tile", _tiles(nest, roles, over, stride, target))
    across = -(-roles.column.extent // (LANES * groups))
    lines = (1 if roles.row is None else -(-roles.row.extent // rows)) * _count(_others(nest, roles))
    widths = _widths(across, WORKGROUP // min(WORKGROUP // WIDTH, lines))
    width = choices.choose("width", ordered(widths[0], [*widths, *_powers(min(across, WORKGROUP))]))
    height = WORKGROUP // width
    heights = [n for n in _powers(target.invocations // width) if n <= lines]
    if len(nest.loops) > 1:
        height = choices.choose("height", ordered(height, heights))
    taps = False
    if len(over) > 1 and over[-2].length is None:
        loads = _positions(rows, over[-2].extent, stride) + groups * min(LANES, over[-1].extent) * over[-2].extent
        few = loads <= FETCHES
        taps = choices.choose("taps", [few, not few] if loads <= 4 * FETCHES else [False])
    return SimtPlan(rows, groups, width, height, tuple(over), stride, taps)


def _tile(stmt: Stmt, nest: Reduction, roles: Roles, plan: SimtPlan) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """Applies `plan`."""
    packed: dict[Buffer, Buffer] = {}
    padded: list[Buffer] = []
    width = LANES * plan.groups * plan.width
    for b in loads(roles.weights):
        given = b.buffer.layout
        if given is not None and given.blocks and given.blocks[-1].size % (LANES * plan.groups) == 0:
            padded += [b.buffer] if begins_panel(b, roles.column, given.blocks[-1].size) else []
        elif b.buffer.constant and b.buffer not in packed and roles.column in free_vars(b):
            layout = panels_of(b, roles.column, list(plan.over), width)
            stmt, panels = pack(stmt, b.buffer, layout)
            stmt = simplify_stmt(stmt)
            packed[b.buffer] = panels
            padded += [panels] if layout.blocks and begins_panel(b, roles.column, width) else []
    stmt = _order(stmt, nest, roles, list(plan.over))
    stmt, column = _tile_columns(stmt, roles.column, plan.groups, padded)
    if roles.row is not None and plan.rows > 1:
        stmt, inner = tile_rows(stmt, roles.row, plan.rows)
        stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    stmt = _unroll_reduction(stmt, plan)
    threads = [plan.width]
    if len(nest.loops) > 1:
        stmt, line = fuse_outer(stmt, len(nest.loops) - 1)
        threads.insert(0, min(plan.height, line.extent))
    # Lanes come last: only from the grid's indices does it follow that an invocation's columns are in one panel.
    return simplify_stmt(_sink_columns(spread(stmt, threads), column)), packed


def _tiles(nest: Reduction, roles: Roles, over: list[Var], stride: int, target: GpuTarget) -> list[tuple[int, int]]:
    """Tiles (rows, groups) by the cost of all invocations in products of vectors, the cheapest first. With fewer
    invocations than the minimum occupancy, idle ones are counted."""
    rows = roles.row.extent if roles.row is not None else 1
    groups = -(-roles.column.extent // LANES)
    others = _count(_others(nest, roles))
    taps = over[-2].extent if len(over) > 1 else 1

    def cost(tile: tuple[int, int]) -> float:
        r, g = tile
        tiles = -(-rows // r) * -(-groups // g) * others
        positions = _positions(r, taps, stride)
        each = r * g * LANES * taps + LOAD_COST * (positions + g * LANES * taps)
        if r * g + min(positions, 4 * r) > REGISTERS:
            each *= 2
        return max(tiles, target.minimum_occupancy) * each

    sizes = [(r, g) for g in (2, 1) for r in range(min(8, rows), 0, -1) if g <= groups]
    return sorted(sizes, key=cost)


def _others(nest: Reduction, roles: Roles) -> list[Var]:
    return [v for v in nest.loops if v not in (roles.row, roles.column)]


def _count(loops: list[Var]) -> int:
    return prod(v.extent for v in loops)


def _powers(most: int) -> list[int]:
    """Powers of two up to `most`."""
    return [1 << n for n in range(most.bit_length())]


def _positions(rows: int, taps: int, stride: int) -> int:
    """Distinct positions of the input under one row of the kernel."""
    return min((rows - 1) * stride + taps, rows * taps)


def _stride(nest: Reduction, roles: Roles) -> int:
    """The distance of neighbouring rows of the tile in positions of A."""
    if roles.row is None or len(nest.over) < 2:
        return 1
    taps = order_reduction(nest, roles.a)[-2]
    for a in accesses(roles.a):
        along, across = a.stride(roles.row), a.stride(taps)
        if along and across:
            return max(1, along // across)
    return 1


def _widths(across: int, most: int) -> list[int]:
    """Invocations along columns, those with the fewest idle invocations first."""
    return sorted(range(min(most, across), 0, -1), key=lambda w: -(-across // w) * w - w / 16)


def _order(stmt: Stmt, nest: Reduction, roles: Roles, over: list[Var]) -> Stmt:
    """Parallel loops: rows, then columns; reduction loops: kernel rows, channels, kernel columns."""
    order = [*_others(nest, roles), *([] if roles.row is None else [roles.row]), roles.column]
    if len(order) > 1:
        stmt = reorder(stmt, order)
    inner = [*over[:-2], *reversed(over[-2:])]
    return reorder(stmt, inner) if len(inner) > 1 else stmt


def tile_rows(stmt: Stmt, row: Var, rows: int) -> tuple[Stmt, Var]:
    """Rows as tiles; returns the loop over those of one. The last tile begins earlier where rows are left; where their
    number is known at run time only, it goes beyond them."""
    if row.length is None:
        stmt, (_, inner) = overlap(stmt, row, rows)
        return stmt, inner
    stmt, row = extend(stmt, row, -(-row.extent // rows) * rows)
    stmt, ((_, inner),) = split(stmt, row, [rounded(row, rows)])
    return stmt, inner


def _tile_columns(stmt: Stmt, column: Var, groups: int, padded: list[Buffer]) -> tuple[Stmt, tuple[Var, Var]]:
    """Columns as tiles x groups x lanes; returns the loops over groups and lanes."""
    if column.extent % LANES:
        stmt, column = extend(stmt, column, -(-column.extent // LANES) * LANES, padded)
    stmt, ((outer, lane),) = split(stmt, column, [rounded(column, LANES)])
    stmt, outer = extend(stmt, outer, -(-outer.extent // groups) * groups, padded)
    stmt, ((_, group),) = split(stmt, outer, [rounded(outer, groups)])
    return stmt, (group, lane)


def _sink_columns(stmt: Stmt, column: tuple[Var, Var]) -> Stmt:
    group, lane = column
    stmt = tag(sink(stmt, group), group, LoopKind.UNROLL)
    return vectorise(sink(stmt, lane), lane, LANES)


def _unroll_reduction(stmt: Stmt, plan: SimtPlan) -> Stmt:
    """Four channels are unrolled, and kernel columns if planned."""
    if not plan.over:
        return stmt
    channel = plan.over[-1]
    stmt, parts = split(stmt, channel, tiles_of(channel, LANES))
    for _, inner in parts:
        stmt = tag(stmt, inner, LoopKind.UNROLL)
    return tag(stmt, plan.over[-2], LoopKind.UNROLL) if plan.taps else stmt
