"""Element-wise nests: loops fused where memory is contiguous, the interior without guards, the innermost vectorised."""

from __future__ import annotations

from ...choices import Choices
from ...ir.nest import Nest, Pointwise, match_nest
from ...ir.nodes import Const, For, Load, LoopKind, Stmt, Store, Var
from ...ir.rewrite import walk
from ...ir.simplify import simplify_stmt
from ...target import Target
from ..access import accesses, contiguous, vectorisable
from ..steps import NARROWEST_VECTOR, fuse, interleave, partition, sink, split, tag, tiles_of, vectorise, vectors_of
from .each_nest import each_nest

UNROLL = (4, 1, 2, 8)
"""Vectors per iteration: amortises the loop overhead; browsers do not unroll."""

COPIES = (8, 1, 2, 4, 16)
"""Elements per iteration that are copied one by one."""


SQUARE = (16, 4, 8, 32)
"""Sides of the squares of a transposition, in elements: 16 of 4 bytes are a cache line."""

SHORTEST_SIDE = 8
"""Loops of fewer iterations leave little to find in a cache again."""


def schedule_pointwise(stmt: Stmt, nest: Pointwise, target: Target, choices: Choices) -> Stmt:
    if nest.loops:
        stmt = partition(stmt, list(nest.loops))
    return each_nest(stmt, lambda s, n, c: _vectorise(*merge_loops(s, n), target, c), choices)


def merge_loops(stmt: Stmt, nest: Nest) -> tuple[Stmt, Nest | None]:
    """Fuses neighbouring loops from the inside out where every access allows it without a division."""
    loops = list(nest.loops)
    while len(loops) > 1 and contiguous(stmt, *loops[-2:]):
        stmt, fused = fuse(stmt, *loops[-2:])
        loops[-2:] = [fused]
    stmt = simplify_stmt(stmt)
    return stmt, match_nest(stmt)


def _vectorise(stmt: Stmt, nest: Nest | None, target: Target, choices: Choices) -> Stmt:
    if nest is None or not nest.loops:
        return stmt
    if _fills_lanes(stmt, nest.loops[-1]):
        return _in_vectors(stmt, nest.loops[-1], target.lanes, choices.choose("unroll", UNROLL))
    pixels = _around_channels(nest)
    if pixels is not None:
        return simplify_stmt(interleave(stmt, pixels, target.lanes))
    along = _other_direction(nest)
    if along is not None:
        return _in_squares(stmt, along, nest.loops[-1], choices.choose("square", SQUARE))
    if isinstance(nest.store.value, Load):
        return _unroll(stmt, nest.loops, choices.choose("copies", COPIES))
    return stmt


def _around_channels(nest: Nest) -> Var | None:
    """The loop along which elements that are computed fill lanes, where the innermost loop is too short: the pixels of
    an image of a few channels. None where there is none."""
    if len(nest.loops) < 2 or isinstance(nest.store.value, Load | Const):
        return None
    pixels, channels = nest.loops[-2:]
    if channels.extent >= NARROWEST_VECTOR or pixels.extent < NARROWEST_VECTOR or channels.length is not None:
        return None
    return pixels if vectorisable(nest.store.value, pixels) else None


def _other_direction(nest: Nest) -> Var | None:
    """The loop along which every load is contiguous, where the store is contiguous along the innermost: a
    transposition. None where there is none, or one of the two loops is short."""
    along, *outer = reversed(nest.loops)
    sites = list(accesses(nest.store))
    if along.extent < SHORTEST_SIDE or any(a.stride(along) != 1 for a in sites if isinstance(a.node, Store)):
        return None
    strides = [{a.stride(v) for a in sites if isinstance(a.node, Load)} for v in outer]
    return next((v for v, s in zip(outer, strides, strict=True) if s == {1} and v.extent >= SHORTEST_SIDE), None)


def _in_squares(stmt: Stmt, row: Var, column: Var, side: int) -> Stmt:
    """The loops over `row` and `column` in squares, so that a cache line that is loaded for one element is still there
    for its neighbours; a row of a square in one iteration."""
    for var in (row, column):
        stmt, squares = split(stmt, var, tiles_of(var, side))
        for _, i in squares:
            stmt = sink(stmt, i)
            if var is column:
                stmt = tag(stmt, i, LoopKind.UNROLL)
    return simplify_stmt(stmt)


def _unroll(stmt: Stmt, loops: tuple[Var, ...], copies: int) -> Stmt:
    """Copies of single elements, several per iteration: of the innermost loop, and where that is short also of the one
    around it (an image's channels, then its pixels)."""
    unrolled = 1
    for var in loops[:-3:-1]:
        size = copies // unrolled
        if size < 2:
            break
        stmt, blocks = split(stmt, var, tiles_of(var, size))
        for _, i in blocks:
            stmt = tag(sink(stmt, i), i, LoopKind.UNROLL)
        unrolled *= min(var.extent, size)
    return simplify_stmt(stmt)


def _fills_lanes(stmt: Stmt, var: Var) -> bool:
    loop = next(n for n in walk(stmt) if isinstance(n, For) and n.var is var)
    return var.extent >= NARROWEST_VECTOR and vectorisable(loop.body, var)


def _in_vectors(stmt: Stmt, var: Var, lanes: int, unroll: int) -> Stmt:
    """The loop over `var` in vectors of `lanes`, `unroll` of them per iteration; scalars for the rest."""
    stmt, pairs = split(stmt, var, vectors_of(var, lanes))
    for outer, inner in pairs:
        stmt = vectorise(stmt, inner, lanes)
        if outer.extent > unroll > 1:
            stmt, blocks = split(stmt, outer, tiles_of(outer, unroll))
            for _, i in blocks:
                stmt = tag(stmt, i, LoopKind.UNROLL)
    return simplify_stmt(stmt)
