"""split: one loop becomes two nested ones, in segments of equal tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.affine import Affine, affine
from ...ir.nodes import Const, Expr, For, Seq, Stmt, Var
from ...ir.rewrite import substitute
from ...ir.simplify import simplify_expr
from .loops import illegal, on_loops

Segment = tuple[int, int]
"""(number of tiles, size of each)."""


@dataclass(frozen=True, slots=True)
class DynamicSegment:
    """A segment of a dynamic loop: `trips` tiles of `size`, at most `count`, from iteration `start` on."""

    count: int
    size: int
    trips: Expr
    start: Expr


Part = Segment | DynamicSegment

NARROWEST_VECTOR = 4
"""Elements: every target's registers hold four, and narrower vectors are no faster than scalars."""


def segments(extent: int, size: int, *, balanced: bool = False) -> list[Segment]:
    """Tiles that cover `extent`: full ones and a rest, or `balanced`: sizes that differ by one at most.

    >>> segments(14, 6), segments(14, 6, balanced=True)
    ([(2, 6), (1, 2)], [(2, 5), (1, 4)])
    """
    if extent <= size:
        return [(1, extent)]
    if balanced:
        count = -(-extent // size)
        small, larger = divmod(extent, count)
        parts = [(larger, small + 1), (count - larger, small)]
    else:
        parts = [(extent // size, size), (1, extent % size)]
    return [(n, s) for n, s in parts if n and s]


def vector_segments(extent: int, lanes: int) -> list[Segment]:
    """Tiles that are vectors: of `lanes`, then of half as many, down to NARROWEST_VECTOR; single elements for the rest.

    >>> vector_segments(30, 16), vector_segments(3, 4)
    ([(1, 16), (1, 8), (1, 4), (1, 2)], [(1, 3)])
    """
    parts = []
    while lanes >= NARROWEST_VECTOR:
        if extent >= lanes:
            parts.append((extent // lanes, lanes))
        extent %= lanes
        lanes //= 2
    return [*parts, (1, extent)] if extent else parts


def powers_below(size: int) -> list[int]:
    """Powers of two less than `size`, falling: tiles of which few make up any rest."""
    return [1 << n for n in reversed(range((size - 1).bit_length()))]


def tiles_of(loop: Var, size: int, tails: Sequence[int] = (1,), *, balanced: bool = False) -> list[Part]:
    """The segments of a loop: `segments` of its extent, or where it is dynamic full tiles, and the rest in tiles of
    `tails`, which fall and end with 1."""
    if loop.length is None:
        return [*segments(loop.extent, size, balanced=balanced)]
    return _dynamic_segments(loop.extent, loop.length, (size, *(t for t in tails if t < size)))


def vectors_of(loop: Var, lanes: int) -> list[Part]:
    """The segments of a loop that are vectors: `vector_segments` of its extent, the same of a dynamic one's length."""
    if loop.length is None:
        return [*vector_segments(loop.extent, lanes)]
    widths = [lanes >> n for n in range(lanes.bit_length()) if lanes >> n >= NARROWEST_VECTOR]
    return _dynamic_segments(loop.extent, loop.length, (*widths, 1))


def rounded(loop: Var, size: int) -> Part:
    """Tiles of `size`, which divides the capacity of a loop, that cover it: of a dynamic one the last may go beyond its
    length, where nothing is read."""
    count = loop.extent // size
    if loop.length is None:
        return count, size
    return DynamicSegment(count, size, simplify_expr((loop.length + (size - 1)) // size), Const(0))


def _dynamic_segments(extent: int, length: Expr, sizes: Sequence[int]) -> list[Part]:
    """Tiles of each of `sizes` from the largest to 1, as many as the iterations that are left fill."""
    parts: list[Part] = []
    start, left, most = Affine((), 0), affine(length), extent
    for size in sizes:
        trips = affine(left.to_expr() // size)
        count = min(most, extent) // size
        if count and (trips.terms or trips.constant):
            parts.append(DynamicSegment(count, size, trips.to_expr(), start.to_expr()))
        start += trips.scale(size)
        left, most = affine(left.to_expr() % size), size - 1
    return parts


def split(stmt: Stmt, var: Var, parts: Sequence[Part]) -> tuple[Stmt, list[tuple[Var, Var]]]:
    """for v < 10: S(v)   ->   for v_o < 2: for v_i < 4: S(4*v_o + v_i);  for v_o < 1: for v_i < 2: S(8 + v_i)
    for v < n of 10: S(v)   ->   for v_o < n // 4 of 2: for v_i < 4: S(4*v_o + v_i);
                                 for v_o < n % 4 of 3: for v_i < 1: S(4 * (n // 4) + v_o + v_i)

    Returns the (outer, inner) variables of each segment. The segments must cover the loop exactly.
    """
    if any(isinstance(p, DynamicSegment) for p in parts):
        return _split_dynamic(stmt, var, [p for p in parts if isinstance(p, DynamicSegment)])
    fixed = [p for p in parts if not isinstance(p, DynamicSegment)]
    return _split(stmt, var, fixed)


def _split_dynamic(stmt: Stmt, var: Var, parts: Sequence[DynamicSegment]) -> tuple[Stmt, list[tuple[Var, Var]]]:
    pairs = [(Var(f"{var.name}o", p.count, p.trips), Var(f"{var.name}i", p.size)) for p in parts]

    def change(loop: For) -> Stmt:
        pieces: list[Stmt] = []
        for p, (o, i) in zip(parts, pairs, strict=True):
            body = substitute(loop.body, {var: p.start + o * p.size + i})
            pieces.append(For(o, For(i, body, loop.kind, loop.parallel), parallel=loop.parallel))
        return pieces[0] if len(pieces) == 1 else Seq(tuple(pieces))

    return on_loops(stmt, var, change), pairs


def _split(stmt: Stmt, var: Var, parts: Sequence[Segment]) -> tuple[Stmt, list[tuple[Var, Var]]]:
    pairs = [(Var(f"{var.name}o", count), Var(f"{var.name}i", size)) for count, size in parts]

    def change(loop: For) -> Stmt:
        if var.length is not None:
            raise illegal("split", loop, "it is dynamic, and the segments are not")
        if sum(count * size for count, size in parts) != loop.var.extent:
            raise illegal("split", loop, f"segments {parts} do not cover {loop.var.extent} iterations")
        pieces: list[Stmt] = []
        start = 0
        for (count, size), (o, i) in zip(parts, pairs, strict=True):
            at = o * size + i
            body = substitute(loop.body, {var: at + start if start else at})
            inner = For(i, body, loop.kind, loop.parallel)
            pieces.append(For(o, inner, parallel=loop.parallel))
            start += count * size
        return pieces[0] if len(pieces) == 1 else Seq(tuple(pieces))

    return on_loops(stmt, var, change), pairs
