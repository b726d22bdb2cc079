"""sum_in_blocks: blocked summation, so that the error of a long sum does not grow with its length.

Each addition to a sum of n terms rounds to the precision of that sum: one running sum over a million of equal numbers
loses two digits. Here each addition is to a sum of at most a block's terms, or of blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from ...dtypes import F32
from ...ir.nodes import Alloc, Binary, Buffer, Const, For, If, Load, LoopKind, Outline, Scope, Seq, Stmt, Store
from ...ir.rewrite import free_vars, loads, replace_buffers, rewrite_top_down, walk
from .loops import on_loops
from .split import Segment, segments, split, tiles_of


def sum_in_blocks(stmt: Stmt, most: int, size: int) -> Stmt:
    """for k < 5000: acc = acc + x[k]
    ->  for ko < 50: local part; part = 0; for ki < 100: part = part + x[100*ko + ki]; acc = acc + part

    Sums in float32 of more than `most` terms, accumulated sequentially, possibly in loops around a tile of sums; blocks
    have about `size` terms. More than `most` blocks are blocked again. Sums are reassociated.
    """

    def rule(n: object) -> Stmt | None:
        return _in_blocks(n, most, size) if isinstance(n, For) and _is_serial(n) else None

    return rewrite_top_down(stmt, rule)


@dataclass(frozen=True, slots=True)
class _Update:
    """`acc[i] = acc[i] + value` in the parallel loops `around` it, so many times for each element."""

    store: Store
    around: tuple[For, ...]
    terms: int


def _is_serial(loop: For) -> bool:
    return not loop.parallel and loop.kind is LoopKind.SERIAL


def _in_blocks(loop: For, most: int, size: int) -> Stmt | None:
    """None where `loop` is no sum, a short one, or a single iteration: a loop inside may be long."""
    updates = list(_updates(loop, (), 1))
    sums = _sums(updates)
    terms = max((u.terms for u in sums), default=0)
    if terms <= most or not _are_sums(loop, updates, sums):
        return None
    extent = loop.var.extent
    block = max(1, size * extent // terms)
    if block == extent:
        return None
    dynamic = loop.var.length is not None
    blocked, pairs = split(loop, loop.var, tiles_of(loop.var, block) if dynamic else _blocks(extent, block))
    # What is left of a dynamic loop is shorter than a block, and added term by term.
    for _, inner in pairs[:1] if dynamic else pairs:
        blocked = on_loops(blocked, inner, lambda n: _apart(n, sums))
    return sum_in_blocks(blocked, most, size)


def _updates(s: Stmt, around: tuple[For, ...], times: int) -> Iterator[_Update]:
    """The stores to local buffers that outlive `s`."""
    match s:
        case Seq(stmts):
            for x in stmts:
                yield from _updates(x, around, times)
        case For(var, body, _, parallel):
            yield from _updates(body, (*around, s) if parallel else around, times if parallel else times * var.extent)
        case Alloc(buffer, body):
            yield from (u for u in _updates(body, around, times) if u.store.buffer is not buffer)
        case If(_, body) | Outline(body):
            yield from _updates(body, around, times)
        case Store(buffer) if buffer.scope is Scope.LOCAL:
            yield _Update(s, around, times)


def _sums(updates: list[_Update]) -> list[_Update]:
    """One update for each sum, with the terms of all."""
    by_place: dict[object, _Update] = {}
    for u in updates:
        place = (u.store.buffer, u.store.indices, tuple(x.var for x in u.around))
        by_place[place] = replace(u, terms=u.terms + by_place[place].terms) if place in by_place else u
    return list(by_place.values())


def _are_sums(loop: For, updates: list[_Update], sums: list[_Update]) -> bool:
    """Whether these buffers are accessed by additions alone, and no element belongs to two of the `sums`."""
    elements = {u.store.buffer: 0 for u in sums}
    for u in sums:
        elements[u.store.buffer] += prod(x.var.extent for x in u.around)
    inside = {n.var for n in walk(loop) if isinstance(n, For)}
    for u in updates:
        acc, at = u.store.buffer, u.store.indices
        moving = {x.var for x in u.around}
        if acc.dtype != F32 or inside & frozenset().union(*map(free_vars, at)) != moving:
            return False
        match u.store.value:
            case Binary("+", Load(read, place, None)) if read is acc and place == at:
                pass
            case _:
                return False
    reads = sum(x.buffer in elements for x in loads(loop))
    return reads == len(updates) and all(n == b.size for b, n in elements.items())


def _blocks(extent: int, size: int) -> list[Segment]:
    """Equal blocks, if about `size` iterations can divide the loop."""
    equal = next((n for n in range(size, size // 2, -1) if extent % n == 0), size)
    return segments(extent, equal)


def _apart(block: For, sums: list[_Update]) -> Stmt:
    """The sums of a block start from zero, and are added to those of all blocks."""
    parts = {b: Buffer("part", b.shape, b.dtype, b.scope) for b in (u.store.buffer for u in sums)}
    starts, ends = [], []
    for u in sums:
        acc, at = u.store.buffer, u.store.indices
        part = parts[acc]
        starts.append(_within(u.around, Store(part, at, Const(0.0, F32))))
        ends.append(_within(u.around, Store(acc, at, Binary("+", Load(acc, at), Load(part, at)))))
    apart: Stmt = Seq((*starts, replace_buffers(block, parts), *ends))
    for part in parts.values():
        apart = Alloc(part, apart)
    return apart


def _within(loops: tuple[For, ...], stmt: Stmt) -> Stmt:
    for loop in reversed(loops):
        stmt = replace(loop, body=stmt)
    return stmt
