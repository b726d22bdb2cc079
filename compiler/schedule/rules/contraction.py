"""Contractions (convolution, matrix product) on a CPU: a register tile of rows x columns, K innermost.

`tile_plan` decides, this file applies: B, if constant, is packed in panels as wide as the tile, so that K runs through
contiguous memory. K is unrolled by a factor of the target, in order: interleaved iterations need more registers, which
only a single row in narrow panels leaves. The loop order of panels and rows follows from the bytes that are reread
(`panels_inside`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from ...choices import Choices
from ...errors import ScheduleError
from ...ir.forms import Contraction
from ...ir.nest import Reduction, match_reduction
from ...ir.nodes import Buffer, For, LoopKind, Stmt, Var
from ...ir.reduction import neutral
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..steps import (
    accumulate,
    fuse,
    keep_sums,
    outline,
    pack,
    powers_below,
    reorder,
    rfactor,
    segments,
    sink,
    split,
    stage,
    tag,
    tiles_of,
)
from .long_sums import MOST_PRODUCTS
from .merge_reduction import merge_reduction
from .roles import Roles, merge_rows, roles_of
from .sink_columns import sink_columns
from .tile_plan import Blocks, TilePlan, blocks_of, choose_blocks, plan_tile

Scheduled = tuple[Stmt, dict[Buffer, Buffer]]
"""The tiled nest, and the constant that was packed with its packed version."""


def schedule_contraction(
    stmt: Stmt, form: Contraction, target: Target, packed: Mapping[Buffer, Buffer], choices: Choices
) -> Scheduled:
    """B has its layout in `packed` if an earlier nest of the kernel reads it."""
    stmt, nest, roles = merge_rows(stmt)
    if not form.sum.is_float:
        target = replace(target, fused=False)  # there is no such instruction for integers
    packed_layout = packed[roles.b.buffer].layout if roles.b.buffer in packed else None
    blocks = choose_blocks(nest, roles, target, choices) if packed_layout is None else blocks_of(packed_layout, nest)
    if blocks is None:
        return _tile(stmt, nest, roles, plan_tile(nest, roles, target, choices, packed_layout), target)
    around, sums = _block(stmt, form, nest, roles, blocks, target)
    products = prod(v.extent for v in roles.batch)
    stmt = simplify_stmt(sums.body)
    nest = match_reduction(stmt)
    roles = roles_of(nest)
    plan = plan_tile(nest, roles, target, choices, packed_layout, blocks, products)
    tiles, swapped = _tile(stmt, nest, roles, plan, target)
    tiled: Stmt = replace(sums, body=tiles)
    for v in reversed(around):
        tiled = For(v, tiled)
    return tiled, swapped


def _block(
    stmt: Stmt, form: Contraction, nest: Reduction, roles: Roles, blocks: Blocks, target: Target
) -> tuple[list[Var], For]:
    """for chunks of columns: for blocks of K: a nest, which accumulates onto the stored partial sums

    Returns the variables of the loops around the loop over blocks, and that loop.
    """
    products, panels = prod(v.extent for v in roles.batch), roles.column.extent // blocks.width
    most = max(1, products * panels // target.costs.chunks)
    chunks = panels // max(n for n in range(1, most + 1) if panels % n == 0)
    others = [v for v in nest.loops if v not in (roles.column, *roles.batch)]
    stmt = reorder(stmt, [*roles.batch, roles.column, *others])
    stmt, ((chunk, _),) = split(stmt, roles.column, [(chunks, roles.column.extent // chunks)])
    around = [*roles.batch, chunk]
    for _ in around:
        if not isinstance(stmt, For):
            raise ScheduleError(f"contraction: fewer than {len(around)} loops are around the blocks of K")
        stmt = stmt.body
    over = nest.over[0]
    return around, accumulate(stmt, over, blocks.depth, apart=form.sum.is_float and over.extent > MOST_PRODUCTS)


def _tile(stmt: Stmt, nest: Reduction, roles: Roles, plan: TilePlan, target: Target) -> Scheduled:
    """Applies `plan`."""
    if len(plan.over) > 1:
        stmt = reorder(stmt, list(plan.over))
    packed: dict[Buffer, Buffer] = {}
    if plan.layout is not None:
        stmt, packed[roles.b.buffer] = pack(stmt, roles.b.buffer, plan.layout)
    stmt, inner = merge_reduction(simplify_stmt(stmt))
    if plan.together:
        stmt = reorder(stmt, [*roles.batch, roles.column]) if roles.batch else stmt
        stmt, over = keep_sums(stmt, roles.column, inner.over[-1], plan.together)
        stmt = _unroll_reduction(stmt, over, plan.unroll)
    elif plan.parts > 1:
        stmt = rfactor(stmt, inner.over[-1], 1, neutral(inner.op, inner.acc.dtype), plan.parts)
    else:
        stmt = _unroll_reduction(stmt, inner.over[-1], plan.unroll)
    others = [v for v in nest.loops if v not in (roles.column, roles.row, *roles.batch)]
    rows = [*others, *([] if roles.row is None else [roles.row])]
    order = [*roles.batch, roles.column, *rows]
    if len(order) > 1 and not plan.together:
        stmt = reorder(stmt, order)
    stmt, columns = split(stmt, roles.column, tiles_of(roles.column, plan.width * plan.inside, _narrower(plan.width)))
    if plan.inside > 1:
        stmt, columns = _move_panels_inside(stmt, columns, rows, plan.width)
    stmt = _tile_rows(stmt, roles, plan)
    stmt = sink_columns(stmt, (inner for _, inner in columns), target.lanes)
    if plan.staged:
        stmt = stage(stmt)
    return simplify_stmt(outline(stmt, around=tuple(panel for panel, _ in columns) if plan.outlined else ())), packed


def _unroll_reduction(stmt: Stmt, over: Var, most: int) -> Stmt:
    """The innermost reduction loop unrolled in order by up to `most`, by a factor that divides it; what is left of a
    dynamic one is not unrolled."""
    dynamic = over.length is not None
    factor = most if dynamic else max(n for n in range(1, most + 1) if over.extent % n == 0)
    if factor == 1:
        return stmt
    stmt, pairs = split(stmt, over, tiles_of(over, factor))
    return tag(stmt, pairs[0][1], LoopKind.IN_ORDER)


def _narrower(width: int) -> list[int]:
    """Tiles of the last columns of a dynamic loop."""
    return [width, *powers_below(width)]


def _tile_rows(stmt: Stmt, roles: Roles, plan: TilePlan) -> Stmt:
    if roles.row is None:
        return stmt
    if plan.line is not None and plan.lines > 1:
        return _tile_lines(stmt, plan.line, roles.row, plan)
    stmt, tiles = split(stmt, roles.row, tiles_of(roles.row, plan.rows, powers_below(plan.rows), balanced=True))
    for _, inner in tiles:
        stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    return stmt


def _tile_lines(stmt: Stmt, line: Var, row: Var, plan: TilePlan) -> Stmt:
    """Tiles of rows counted through several lines. All tiles are unrolled: the line and column of a row are then
    constants, and each tile has its own offsets."""
    stmt, bands = split(stmt, line, segments(line.extent, plan.lines))
    for _, lines in bands:
        stmt, flat = fuse(stmt, lines, row)
        stmt, tiles = split(stmt, flat, segments(flat.extent, plan.rows, balanced=True))
        for outer, inner in tiles:
            stmt = tag(tag(sink(stmt, inner), inner, LoopKind.UNROLL), outer, LoopKind.UNROLL)
    return stmt


def _move_panels_inside(
    stmt: Stmt, blocks: list[tuple[Var, Var]], rows: list[Var], width: int
) -> tuple[Stmt, list[tuple[Var, Var]]]:
    """GEBP loop order: blocks of panels around the rows, a block's panels inside. Returns (panel, column) of each."""
    columns: list[tuple[Var, Var]] = []
    for block, inside in blocks:
        stmt = reorder(stmt, [block, *rows, inside])
        stmt, panels = split(stmt, inside, segments(inside.extent, width))
        columns += panels
    return stmt, columns
