"""The decisions of a contraction's schedule on a CPU: a register tile of rows x columns, and the loops around it.

Rows are output positions (each an element of A, broadcast), columns output channels (vectors of B). A step of K of a
tile of 6 x 8 is 12 multiply-adds for 8 loads; smaller tiles are bound by loads or by the latency of an addition.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import prod

from ...choices import Choices, ordered
from ...ir.layout import Layout
from ...ir.nest import Reduction
from ...ir.nodes import Binary, Load, Var
from ...ir.rewrite import free_vars, loads
from ...ir.scalar_ops import DOTS
from ...target import Target
from ..steps import stores_sum
from .pad_panels import pad_panels
from .panel_layout import panels_of
from .panels import panels_inside
from .roles import Roles, order_reduction, row_count

FLAT_ROWS = 64
"""Most rows of narrow images that are tiled together: each tile of them is separate code."""

DEPTH = 4
"""K blocks are a multiple of this where possible: targets may unroll K by as many."""

ACCUMULATORS = 4
"""Sums of a tile that hide the latency of an addition: a product of one row whose weights are in panels of two vectors
takes 0.6 of the time with as many, where a cache holds these, and 0.85 where memory does (V8 and LLVM, Zen 4)."""

FEWEST_TERMS = 32
"""Terms of each of several partial sums at least: they are added up in the end."""

LONGEST_LINE = 4096
"""Bytes of the sums of all columns that stay in the first level beside the rows of B that pass."""

MOST_BLOCKS = 8
"""Most blocks of K to choose from; more only by the heuristic."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """K-blocking: blocks of `depth` iterations of K, over panels of B of `width` columns."""

    depth: int
    width: int


@dataclass(frozen=True, slots=True)
class TilePlan:
    """A register tile has `rows` rows and `width` columns. `lines` lines of an image share tiles of rows; `line` is the
    loop over them, None where there is none. `over` is the order of the reduction loops, the innermost unrolled by up
    to `unroll`, or its iterations in turn for `parts` partial sums. `layout` is that of B if it is a constant.
    `together`: so many rows of B are read by all panels before the next ones, with sums in memory; 0 for all rows.
    `inside`: panels of B inside the loop over rows; `outlined`: all panels of a block are one function. `staged`: sums
    go through memory before a heavy epilogue."""

    rows: int
    width: int
    lines: int
    line: Var | None
    over: tuple[Var, ...]
    unroll: int
    parts: int
    layout: Layout | None
    together: int
    inside: int
    outlined: bool
    staged: bool


def choose_blocks(nest: Reduction, roles: Roles, target: Target, choices: Choices) -> Blocks | None:
    """The K-blocks of a long sum over constant weights, None without blocking. By default for weights streamed from
    memory by few rows: over all of K they would evict A from the first-level cache."""
    (over, *others), columns, costs = nest.over, roles.column.extent, target.costs
    width = 2 * target.lanes
    dynamic = over.length is not None or roles.column.length is not None
    words = isinstance(nest.value, Binary) and nest.value.op in DOTS  # their layout has a block of K already
    if others or dynamic or words or not roles.b.buffer.constant or columns % width or not stores_sum(nest):
        return None
    fitting = [n for n in range(2, MOST_BLOCKS + 1) if over.extent % n == 0 and over.extent // n >= costs.fewest_steps]
    preferred = 1
    if row_count(nest, roles) in costs.streamed_rows and _bytes(roles.b) >= costs.streamed_weights:
        least = -(-over.extent * width * roles.b.dtype.bytes // costs.streamed_panel)
        preferred = next((n for n in range(least, 2 * least) if over.extent % (n * DEPTH) == 0), 1)
        preferred = 1 if over.extent // preferred < costs.fewest_steps else preferred
    count = choices.choose("blocks", ordered(preferred, [1, *fitting]))
    return None if count == 1 else Blocks(over.extent // count, width)


def blocks_of(layout: Layout, nest: Reduction) -> Blocks | None:
    """The blocks of a constant's layout, if it has any."""
    if len(layout.blocks) < 2 or not stores_sum(nest):
        return None
    rows, columns = layout.blocks
    return Blocks(rows.size, columns.size)


def plan_tile(
    nest: Reduction,
    roles: Roles,
    target: Target,
    choices: Choices,
    packed_layout: Layout | None,
    blocks: Blocks | None = None,
    matrices: int = 1,
) -> TilePlan:
    """The plan of a nest, or of the sum over one of `blocks` of one of so many `matrices`.

    `packed_layout` is the layout of B if another nest has decided it: then the tile is as wide as its panels.
    """
    line = _line_loop(nest, roles)
    lines = _choose_lines(line, roles, target, choices)
    rows = lines * (roles.row.extent if roles.row is not None else 1)
    if blocks is not None:
        width = blocks.width
    elif packed_layout is not None and packed_layout.blocks:
        width = packed_layout.blocks[-1].size
    else:
        width = _choose_vectors(_row_limit(line, roles), roles, target, choices) * target.lanes
    over = _choose_order(nest, roles, choices)
    tile_rows = _choose_rows(rows, target.tile_rows(width // target.lanes), choices)
    inside = 1 if blocks is not None else _choose_inside(nest, roles, width, tile_rows, target, choices)
    short = inside > 1 and prod(v.extent for v in over) <= target.costs.short_reduction
    layout = packed_layout
    if roles.b.buffer.constant and layout is None:
        layout = _layout(roles, over, width, blocks, matrices, target)
    together = _choose_together(nest, roles, width, target, choices)
    parts = 1 if together else _choose_parts(nest, roles, over[-1], width // target.lanes, choices)
    return TilePlan(
        tile_rows,
        width,
        lines,
        line,
        tuple(over),
        unroll=choices.choose("unroll", list(range(target.unroll, 0, -1))) if parts == 1 else 1,
        parts=parts,
        layout=layout if roles.b.buffer.constant else None,
        together=together,
        inside=inside,
        outlined=choices.choose("outlined", [short, not short]) if inside > 1 else False,
        staged=choices.choose("staged", [True, False]),
    )


def _line_loop(nest: Reduction, roles: Roles) -> Var | None:
    """The loop around the rows, if it too indexes A alone: the lines of an image."""
    others = [v for v in nest.loops if v not in (roles.column, roles.row)]
    if not others or roles.row is None or others[-1] in free_vars(roles.b):
        return None
    if roles.row.length is not None or others[-1].length is not None:
        return None
    return others[-1] if any(others[-1] in free_vars(x) for x in loads(roles.a)) else None


def _choose_lines(line: Var | None, roles: Roles, target: Target, choices: Choices) -> int:
    """The number of lines of a narrow image that share tiles, so that fewer tiles are partial."""
    if line is None or roles.row is None:
        return 1
    width, tile_rows = roles.row.extent, target.tile_rows(min(2, -(-roles.column.extent // target.lanes)))

    def tiles(lines: int) -> int:
        whole, rest = divmod(line.extent, lines)
        return whole * -(-lines * width // tile_rows) + -(-rest * width // tile_rows)

    fitting = range(1, _line_limit(line, roles.row) + 1)
    best = min(fitting, key=tiles)
    return choices.choose("lines", ordered(best if tiles(best) <= 0.95 * tiles(1) else 1, fitting))


def _line_limit(line: Var, row: Var) -> int:
    """The most lines that may share tiles."""
    return max(1, min(line.extent, FLAT_ROWS // row.extent))


def _row_limit(line: Var | None, roles: Roles) -> int:
    """The most rows that tiles may be made of."""
    if roles.row is None:
        return 1
    return roles.row.extent * (1 if line is None else _line_limit(line, roles.row))


def _choose_vectors(rows: int, roles: Roles, target: Target, choices: Choices) -> int:
    """Tile width in vectors: with few rows, hiding the latency of additions takes more columns. The default depends on
    no target's registers: the variants of a wasm module share the weights, in panels of this width."""
    available = -(-roles.column.extent // target.lanes)
    # Of one row the widest tile that fills the last panel best.
    widest = min(range(10, 5, -1), key=lambda n: -available % n) if rows == 1 else {2: 4, 3: 3}.get(rows, 2)
    preferred = max(1, min(widest, available))
    return choices.choose("vectors", ordered(preferred, range(1, min(available, target.widest_tile) + 1)))


def _choose_together(nest: Reduction, roles: Roles, width: int, target: Target, choices: Choices) -> int:
    """Rows of B that all panels read before the next ones, 0 for all rows. One row of A reads B once, in each panel
    parts of its lines: of what a run computes, which is not packed in panels, memory delivers such parts at a fifth of
    its speed (4.1 and 26 GB/s, Zen 4)."""
    column, over = roles.column, nest.over[-1]
    alone = roles.row is None and set(nest.loops) == {column, *roles.batch} and len(nest.over) == 1
    if not alone or roles.b.buffer.constant or column.length is not None or column.extent <= width:
        return 0
    if column.extent * nest.acc.dtype.bytes > LONGEST_LINE or over.extent < 2 * DEPTH:
        return 0
    products = prod(v.extent for v in roles.batch)
    preferred = DEPTH if _bytes(roles.b) > products * target.costs.operand_in_first_level else 0
    return choices.choose("together", ordered(preferred, [0, DEPTH // 2, DEPTH, 2 * DEPTH]))


def _choose_parts(nest: Reduction, roles: Roles, over: Var, vectors: int, choices: Choices) -> int:
    """The partial sums of a row that is alone: its accumulators are few where panels are narrow."""
    if roles.row is not None or not nest.acc.dtype.is_float or over.extent < FEWEST_TERMS * ACCUMULATORS:
        return 1
    return choices.choose("parts", ordered(max(1, ACCUMULATORS // vectors), [1, 2, ACCUMULATORS]))


def _choose_rows(rows: int, most: int, choices: Choices) -> int:
    """Rows of a tile, by default as many as registers hold. Tiles are of about equal size, so only one of several sizes
    that make as many tiles is an option."""
    by_count = {-(-rows // n): n for n in range(1, min(most, rows) + 1)}
    return choices.choose("rows", sorted(by_count.values(), reverse=True))


def _choose_order(nest: Reduction, roles: Roles, choices: Choices) -> list[Var]:
    """The reduction loops, by default with falling strides of A."""
    preferred = tuple(nest.over.index(v) for v in order_reduction(nest, roles.a))
    others = permutations(range(len(nest.over))) if len(nest.over) <= 3 else ()
    return [nest.over[i] for i in choices.choose("order", ordered(preferred, list(others)))]


def _choose_inside(nest: Reduction, roles: Roles, width: int, tile_rows: int, target: Target, choices: Choices) -> int:
    products = prod(v.extent for v in roles.batch)
    a = sum(map(_bytes, loads(roles.a))) // products
    b = _bytes(roles.b) // products
    panels = -(-roles.column.extent // width)
    preferred = panels_inside(a, b, -(-row_count(nest, roles) // tile_rows), panels, target.costs)
    powers = [1 << n for n in range(panels.bit_length()) if 1 << n < panels]
    return choices.choose("inside", ordered(preferred, [1, *powers, panels]))


def _bytes(operand: Load) -> int:
    """The size of the buffer that is loaded."""
    return operand.buffer.size * operand.dtype.bytes


def _layout(roles: Roles, over: list[Var], width: int, blocks: Blocks | None, matrices: int, target: Target) -> Layout:
    """Panels; those of many matrices are padded, so that they do not share cache sets."""
    layout = panels_of(roles.b, roles.column, over, width, None if blocks is None else over[0])
    old = roles.b.buffer.layout
    if not layout.blocks or len(over) > 1 or old is None:
        return layout
    row = next((a for a, i in enumerate(old.logical(roles.b.indices)) if over[0] in free_vars(i)), None)
    if row is None:
        return layout
    count = matrices * prod(v.extent for v in roles.batch)
    return pad_panels(layout, count, row, roles.b.buffer.dtype, target.costs)
