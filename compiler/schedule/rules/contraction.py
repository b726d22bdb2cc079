"""Contractions (convolution, matrix product): a register tile of rows x columns, K innermost.

Rows are output positions (each an element of A, broadcast), columns are output channels (vectors of B). Per step of K a
tile of 6 x 8 does 12 multiply-adds for 8 loads; smaller tiles are bound by loads or by the latency of an addition.
Some steps of K, as many as the target says, are one iteration, in order: mixed they need more registers.
B, if constant, is packed in panels as wide as the tile, so that K runs through contiguous memory. Whether
panels or rows stand outside goes by the bytes that are read again (`panels_inside`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from ...dtypes import F32
from ...ir.index import affine, flat_offset
from ...ir.layout import Block, Layout
from ...ir.nodes import Binary, Buffer, Expr, For, Load, LoopKind, Stmt, Store, Var
from ...ir.rewrite import free_vars, loads
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import Access, accesses, contiguous
from ..nest import Reduction, match_nest
from ..steps import (
    accumulate,
    fuse,
    outline,
    pack,
    reorder,
    segments,
    sink,
    split,
    stage,
    stores_sum,
    tag,
    vector_segments,
    vectorise,
)
from .long_sums import MOST_PRODUCTS
from .merge_reduction import merge_reduction
from .panels import panels_inside
from .spread_panels import spread_panels

FLAT_ROWS = 64
"""Rows of narrow images that are tiled together, at most: each tile of them is code of its own."""

STREAMED_ROWS = range(4, 7)
"""With so few, one tile or two, B is read as fast as memory gives it; fewer read too little of A for it to matter."""
STREAMED_BYTES = 2**22
"""Of B, from which on it comes from memory."""
PANEL = 8192
"""Bytes of a panel of B with which its rows of A stay in half of a usual first-level data cache: the rest may not be
ours."""
FEWEST_STEPS = 128
"""Of a block: the sums of each go through memory."""
CHUNKS = 32
"""Blocks of columns, for a few on each of eight cores."""
STEPS = 4
"""What steps of a block are a multiple of, so that targets that want so many in an iteration can have them."""

SHORT = 32
"""Steps of K up to which a call takes several percent of a tile's time: all panels of a block are then one function."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Which loop runs over columns, which over rows (None for a single row), and the operand that columns move."""

    column: Var
    row: Var | None
    b: Load
    a: Expr


def find_roles(nest: Reduction) -> Roles | None:
    """The roles of a sum of products, None where the nest has no column loop that can be a vector."""
    value = nest.value
    if nest.op != "+" or not isinstance(value, Binary) or value.op != "*" or nest.acc.dtype != F32:
        return None
    best: tuple[tuple[bool, ...], Roles] | None = None
    for a, b in ((value.a, value.b), (value.b, value.a)):
        if not isinstance(b, Load) or b.guard is not None:
            continue
        of_a = frozenset().union(*(free_vars(x) for x in loads(a)))
        of_b = free_vars(b)
        for column in nest.loops:
            if column not in of_b or column in of_a:
                continue
            step = _step(b, column)
            if step is None or not (step == 1 or b.buffer.constant):
                continue
            rows = [v for v in nest.loops if v in of_a and v not in of_b]
            row = max(rows, key=lambda v: (min(v.extent, 8), nest.loops.index(v))) if rows else None
            stores = _step(nest.store, column) == 1
            score = (stores, b.buffer.constant, step == 1)
            if best is None or score > best[0]:
                best = (score, Roles(column, row, b, a))
    return best[1] if best else None


def _step(access: Load | Store, var: Var) -> int | None:
    return Access(access, flat_offset(access.buffer.shape, access.indices)).step(var)


def schedule_contraction(
    stmt: Stmt, target: Target, packed: Mapping[Buffer, Buffer]
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """The tiled nest, and the constant that was packed with what takes its place: as `packed` says, if another nest of
    the kernel has read it before."""
    stmt = merge_rows(stmt)
    nest, roles = _match(stmt)
    known = packed[roles.b.buffer].layout if roles.b.buffer in packed else None
    blocks = find_blocks(nest, roles, target) if known is None else _blocks_of(known, nest)
    return _in_tiles(stmt, target, known) if blocks is None else _in_blocks(stmt, blocks, target, known)


def _match(stmt: Stmt) -> tuple[Reduction, Roles]:
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    roles = find_roles(nest)
    assert roles is not None
    return nest, roles


@dataclass(frozen=True, slots=True)
class Blocks:
    """Of B: so many steps of K, in panels as wide."""

    steps: int
    width: int


def find_blocks(nest: Reduction, roles: Roles, target: Target) -> Blocks | None:
    """The blocks of a long sum over weights that come from memory, None where it is better made at once."""
    (over, *others), columns = nest.over, roles.column.extent
    rows = prod(v.extent for v in nest.loops if v is not roles.column and v not in free_vars(roles.b))
    width = 2 * target.lanes
    streamed = roles.b.buffer.constant and roles.b.buffer.size * F32.bytes >= STREAMED_BYTES
    if others or rows not in STREAMED_ROWS or not streamed or columns % width or not stores_sum(nest):
        return None
    least = -(-over.extent * width * F32.bytes // PANEL)
    count = next((n for n in range(least, 2 * least) if over.extent % (n * STEPS) == 0), 1)
    steps = over.extent // count
    return None if count == 1 or steps < FEWEST_STEPS else Blocks(steps, width)


def _blocks_of(layout: Layout, nest: Reduction) -> Blocks | None:
    """Those in which a constant lies already."""
    if len(layout.blocks) < 2 or not stores_sum(nest):
        return None
    rows, columns = layout.blocks
    return Blocks(rows.size, columns.size)


def _in_blocks(stmt: Stmt, blocks: Blocks, target: Target, known: Layout | None) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """for chunks of columns: for blocks of K: tiles, which go on from what the result holds."""
    nest, roles = _match(stmt)
    batch = _batch(nest, roles)
    products, panels = prod(v.extent for v in batch), roles.column.extent // blocks.width
    most = max(1, products * panels // CHUNKS)
    chunks = panels // max(n for n in range(1, most + 1) if panels % n == 0)
    stmt = reorder(stmt, [*batch, roles.column, *(v for v in nest.loops if v not in (roles.column, *batch))])
    stmt, ((chunk, _),) = split(stmt, roles.column, [(chunks, roles.column.extent // chunks)])
    around = [*batch, chunk]
    for _ in around:
        assert isinstance(stmt, For)
        stmt = stmt.body
    over = nest.over[0]
    sums = accumulate(stmt, over, blocks.steps, apart=over.extent > MOST_PRODUCTS)
    tiles, packed = _in_tiles(simplify_stmt(sums.body), target, known, blocks, products)
    made: Stmt = replace(sums, body=tiles)
    for v in reversed(around):
        made = For(v, made)
    return made, packed


def _in_tiles(
    stmt: Stmt, target: Target, layout: Layout | None, blocks: Blocks | None = None, matrices: int = 1
) -> tuple[Stmt, dict[Buffer, Buffer]]:
    """A nest, or what sums up one of `blocks`, of one of so many `matrices`. `layout`: that of B, if it is known."""
    nest, roles = _match(stmt)
    line = _line_loop(nest, roles)
    together = _lines_together(line, roles, target)
    rows = together * (roles.row.extent if roles.row is not None else 1)
    width = _tile_vectors(rows, -(-roles.column.extent // target.lanes)) * target.lanes
    if blocks is not None:
        width = blocks.width
    elif layout is not None and layout.blocks:
        width = layout.blocks[-1].size
    vectors = width // target.lanes
    over = order_reduction(nest, roles)
    if len(over) > 1:
        stmt = reorder(stmt, over)
    packed: dict[Buffer, Buffer] = {}
    if roles.b.buffer.constant:
        if layout is None:
            layout = panels_of(roles.b, roles.column, over, width, None if blocks is None else over[0])
            if layout.blocks and len(over) == 1:
                layout = _spread(layout, matrices * prod(v.extent for v in _batch(nest, roles)), roles, over[0])
        stmt, new = pack(stmt, roles.b.buffer, layout)
        packed[roles.b.buffer] = new
    stmt = _steps_in_order(merge_reduction(simplify_stmt(stmt)), target.steps)
    batch = _batch(nest, roles)
    others = [v for v in nest.loops if v not in (roles.column, roles.row, *batch)]
    row = [] if roles.row is None else [roles.row]
    tile_rows = target.tile_rows(vectors)
    inside = _panels_inside(nest, roles, width, tile_rows) if blocks is None else 1
    order = [*batch, roles.column, *others, *row]
    if len(order) > 1:
        stmt = reorder(stmt, order)
    stmt, columns = split(stmt, roles.column, segments(roles.column.extent, width * inside))
    if inside > 1:
        stmt, columns = _panels_within(stmt, columns, [*others, *row], width)
    if line is not None and together > 1:
        stmt = _tile_flat(stmt, line, roles, together, tile_rows)
    elif roles.row is not None:
        stmt, tiles = split(stmt, roles.row, segments(rows, tile_rows, balanced=True))
        for _, inner in tiles:
            stmt = tag(sink(stmt, inner), inner, LoopKind.UNROLL)
    stmt = _sink_columns(stmt, columns, target)
    short = inside > 1 and prod(v.extent for v in over) <= SHORT
    return simplify_stmt(outline(stage(stmt), around=tuple(panel for panel, _ in columns) if short else ())), packed


def _batch(nest: Reduction, roles: Roles) -> list[Var]:
    """Loops that move both operands: each of their iterations is a product of its own."""
    of_a = frozenset().union(*(free_vars(x) for x in loads(roles.a)))
    return [v for v in nest.loops if v in of_a and v in free_vars(roles.b)]


def _line_loop(nest: Reduction, roles: Roles) -> Var | None:
    """The loop that will stand around the rows, if it moves A alone, too: the lines of an image."""
    others = [v for v in nest.loops if v not in (roles.column, roles.row)]
    if not others or roles.row is None or others[-1] in free_vars(roles.b):
        return None
    return others[-1] if any(others[-1] in free_vars(x) for x in loads(roles.a)) else None


def _lines_together(line: Var | None, roles: Roles, target: Target) -> int:
    """How many lines of a narrow image share tiles, so that fewer of them are narrower than the registers allow."""
    if line is None or roles.row is None:
        return 1
    width, tile_rows = roles.row.extent, target.tile_rows(min(2, -(-roles.column.extent // target.lanes)))

    def tiles(together: int) -> int:
        whole, rest = divmod(line.extent, together)
        return whole * -(-together * width // tile_rows) + -(-rest * width // tile_rows)

    fitting = range(1, max(1, min(line.extent, FLAT_ROWS // width)) + 1)
    best = min(fitting, key=tiles)
    return best if tiles(best) <= 0.95 * tiles(1) else 1


def _tile_flat(stmt: Stmt, line: Var, roles: Roles, together: int, tile_rows: int) -> Stmt:
    """Tiles of rows counted through `together` lines. Each stands at a place of its own, where what divides a row
    number into line and column is known: so all tiles are written out, each with its own offsets."""
    assert roles.row is not None
    stmt, bands = split(stmt, line, segments(line.extent, together))
    for _, lines in bands:
        stmt, flat = fuse(stmt, lines, roles.row)
        stmt, tiles = split(stmt, flat, segments(flat.extent, tile_rows, balanced=True))
        for outer, inner in tiles:
            stmt = tag(tag(sink(stmt, inner), inner, LoopKind.UNROLL), outer, LoopKind.UNROLL)
    return stmt


def _panels_inside(nest: Reduction, roles: Roles, width: int, tile_rows: int) -> int:
    products = prod(v.extent for v in _batch(nest, roles))
    a = sum(x.buffer.size for x in loads(roles.a)) * F32.bytes // products
    b = roles.b.buffer.size * F32.bytes // products
    rows = prod(v.extent for v in nest.loops if v is not roles.column and v not in free_vars(roles.b))
    return panels_inside(a, b, -(-rows // tile_rows), -(-roles.column.extent // width))


def _panels_within(
    stmt: Stmt, blocks: list[tuple[Var, Var]], rows: list[Var], width: int
) -> tuple[Stmt, list[tuple[Var, Var]]]:
    """Blocks of panels stand around the rows, the panels of a block inside them. Returns (panel, column) of each."""
    columns: list[tuple[Var, Var]] = []
    for block, inside in blocks:
        stmt = reorder(stmt, [block, *rows, inside])
        stmt, panels = split(stmt, inside, segments(inside.extent, width))
        columns += panels
    return stmt, columns


def _sink_columns(stmt: Stmt, columns: list[tuple[Var, Var]], target: Target) -> Stmt:
    for _, inner in columns:
        stmt = sink(stmt, inner)
        stmt, parts = split(stmt, inner, vector_segments(inner.extent, target.lanes))
        for outer, lane in parts:
            stmt = tag(stmt, outer, LoopKind.UNROLL)
            stmt = vectorise(stmt, lane, target.lanes)
    return stmt


def _tile_vectors(rows: int, available: int) -> int:
    """Tile width in vectors: with few rows it takes more columns to hide the latency of additions."""
    wanted = {1: 10, 2: 4, 3: 3}.get(rows, 2)
    return max(1, min(wanted, available))


def merge_rows(stmt: Stmt) -> Stmt:
    """Fuses row loops that walk through memory as one (1x1 convolutions, batches of matrix rows)."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    for outer, inner in zip(nest.loops, nest.loops[1:], strict=False):
        roles = find_roles(nest)
        if (
            roles is None
            or roles.column in (outer, inner)
            or outer in free_vars(roles.b)
            or inner in free_vars(roles.b)
        ):
            continue
        if contiguous(stmt, outer, inner):
            stmt, _ = fuse(stmt, outer, inner)
            return merge_rows(simplify_stmt(stmt))
    return stmt


def order_reduction(nest: Reduction, roles: Roles) -> list[Var]:
    """Reduction loops so that A is read with falling strides: kernel rows, kernel columns, channels."""

    def stride(v: Var) -> int:
        steps = [abs(s) for a in accesses(roles.a) if (s := a.step(v)) is not None]
        return max(steps, default=0)

    return sorted(nest.over, key=lambda v: -stride(v))


def panels_of(b: Load, column: Var, over: list[Var], width: int, block: Var | None = None) -> Layout:
    """The constant in panels of `width` columns; inside a panel its reduction dimensions in the order of the loops.
    With `block`, panels hold as many rows as this loop counts, and all panels of these rows stand together."""
    old = b.buffer.layout
    assert old is not None
    logical = old.logical(b.indices)
    place = {v: i for i, v in enumerate(over)}

    def rank(axis: int) -> tuple[int, int]:
        inside = [place[v] for v in free_vars(logical[axis]) if v in place]
        return (1, max(inside)) if inside else (0, axis)

    blocked = next(d for d, i in enumerate(logical) if column in free_vars(i))
    order = tuple(sorted(range(len(logical)), key=rank))
    none = ((0, 0),) * len(logical)
    ones = (1,) * len(logical)
    if free_vars(logical[blocked]) == {column} or _aligned(logical[blocked], column, width):
        inner: list[Block] = []
        if block is not None:
            row = next(d for d, i in enumerate(logical) if block in free_vars(i))
            order = tuple(d for a in order if a != row for d in ((row, a) if a == blocked else (a,)))
            inner.append(Block(row, block.extent, block.extent))
        return Layout(old.shape, order, none, ones, (*inner, Block(blocked, width, width)))
    # Several groups share the dimension and panels would straddle them: columns last, unblocked, as long as before.
    rest = tuple(a for a in order if a != blocked)
    return Layout(old.shape, (*rest, blocked), none, old.align)


def _spread(layout: Layout, matrices: int, roles: Roles, over: Var) -> Layout:
    """The panels of several matrices, `over` being the loop over their rows, so that they do not meet in a cache."""
    old = roles.b.buffer.layout
    assert old is not None
    row = next((a for a, i in enumerate(old.logical(roles.b.indices)) if over in free_vars(i)), None)
    return layout if row is None else spread_panels(layout, matrices, row, roles.b.buffer.dtype)


def _aligned(index: Expr, column: Var, width: int) -> bool:
    """Whether `index` is a multiple of `width` where the column loop starts, so that no panel straddles two groups."""
    terms = affine(index)
    return terms.constant % width == 0 and all(c % width == 0 for a, c in terms.terms if a is not column)


def _steps_in_order(stmt: Stmt, steps: int) -> Stmt:
    """The innermost reduction loop with up to `steps` of its steps in each iteration, none left over."""
    nest = match_nest(stmt)
    assert isinstance(nest, Reduction)
    over = nest.over[-1]
    together = max(n for n in range(1, steps + 1) if over.extent % n == 0)
    if together == 1:
        return stmt
    stmt, pairs = split(stmt, over, [(over.extent // together, together)])
    return tag(stmt, pairs[0][1], LoopKind.IN_ORDER)
