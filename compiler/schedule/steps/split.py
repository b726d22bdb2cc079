"""split: one loop becomes two nested ones, in segments of equal tiles."""

from __future__ import annotations

from ...ir.nodes import For, Seq, Stmt, Var
from ...ir.rewrite import substitute
from .loops import illegal, on_loops

Segment = tuple[int, int]
"""(number of tiles, size of each)."""

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


def split(stmt: Stmt, var: Var, parts: list[Segment]) -> tuple[Stmt, list[tuple[Var, Var]]]:
    """for v < 10: S(v)   ->   for v_o < 2: for v_i < 4: S(4*v_o + v_i);  for v_o < 1: for v_i < 2: S(8 + v_i)

    Returns the (outer, inner) variables of each segment. The segments must cover the loop exactly.
    """
    pairs = [(Var(f"{var.name}o", count), Var(f"{var.name}i", size)) for count, size in parts]

    def change(loop: For) -> Stmt:
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
