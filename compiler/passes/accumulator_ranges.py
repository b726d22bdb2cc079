"""Facts of accumulators, from their starts and the steps that change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..ir.facts import Facts
from ..ir.intervals import Range, limits, union, within
from ..ir.nodes import Alloc, Binary, Buffer, Expr, For, Kernel, Load, Node, Store
from ..ir.rewrite import children, walk


def with_accumulators(kernel: Kernel, ranges: Mapping[Buffer, Range]) -> Facts:
    """`ranges`, and what the local buffers of the reductions in a naive kernel may hold."""
    extended = dict(ranges)
    for s in walk(kernel.body):
        if isinstance(s, Alloc) and s.buffer.dtype.is_int:
            extended[s.buffer] = _accumulated(s, Facts(extended))
    return Facts(extended)


def _accumulated(alloc: Alloc, facts: Facts) -> Range:
    """From all stores to the buffer: a start that does not read it, and steps `acc = acc op value`."""
    buffer = alloc.buffer
    most = limits(buffer.dtype)
    start: Range | None = None
    steps: list[tuple[str, Range, int]] = []
    for store, trips in _stores(alloc.body, buffer, 1):
        if not _reads(store.value, buffer):
            r = facts.of(store.value)
            start = r if start is None else union(start, r)
            continue
        match store.value:
            case Binary(op, Load(b, _, None), value) if b is buffer and not _reads(value, buffer):
                steps.append((op, facts.of(value), trips))
            case _:
                return most
    if start is None or buffer.shape:
        return most
    low, high = start
    for op, (least, greatest), trips in steps:
        match op:
            case "+":
                low, high = low + trips * min(0, least), high + trips * max(0, greatest)
            case "max" | "min" if trips:
                # What is read afterwards; the start, where no value can be, is seen by the first step alone.
                pick = max if op == "max" else min
                low, high = pick(low, least), pick(high, greatest)
            case _:
                return most
    return (low, high) if within((low, high), most) else most


def _stores(s: Node, buffer: Buffer, trips: int) -> Iterator[tuple[Store, int]]:
    """The stores to `buffer`, each with how often the loops inside `s` repeat it."""
    if isinstance(s, Store) and s.buffer is buffer:
        yield s, trips
    for c in children(s):
        if not isinstance(c, Expr):
            yield from _stores(c, buffer, trips * s.var.extent if isinstance(s, For) else trips)


def _reads(e: Expr, buffer: Buffer) -> bool:
    return any(isinstance(n, Load) and n.buffer is buffer for n in walk(e))
