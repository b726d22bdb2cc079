"""Four ways to the order of lines: the first elements one after the other, all by their ranks, those from a threshold
on, or all by a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...dtypes import I32, highest, lowest
from ...ir.construct import minimum, select
from ...ir.nodes import Const, Expr, Scalar, binary
from ...ir.sizes import Size, capacity, divides, number, product
from ...tensor import Tensor, compute, constant, reduce
from ...tensor.structure import loop
from ..reductions.running import running
from .keys import Keys, Order, within
from .places import places
from .threshold import threshold


def pick(name: str, keys: Keys, count: Size) -> Order:
    """In each step the first of those that come after the last one. Where rows of a stack would not be whole vectors,
    as stores to textures require them, they have four copies of each index."""
    copies = not divides(4, product(keys.lines))
    start = compute(f"{name}.none", keys.lines, (), lambda *_: Const(-1))

    def step(_: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (last,) = carried

        def later(line: Sequence[Expr], i: Expr) -> Expr:
            previous = last.read(tuple(line))
            return (previous < 0) | keys.before(line, previous, i)

        worst = lowest if keys.largest else highest

        def key(*line: Expr) -> Expr:
            def element(i: Expr) -> Expr:
                value = keys.of(line, i)
                return select(later(line, i), value, worst(value.dtype))

            return reduce("max" if keys.largest else "min", (keys.n,), element)

        best = compute(f"{name}.key", keys.lines, (last, *keys.reads), key)

        def index(*line: Expr) -> Expr:
            def element(i: Expr) -> Expr:
                here = later(line, i) & keys.of(line, i).eq(best.read(line))
                return select(here, i, capacity(keys.n))

            return reduce("min", (keys.n,), element)

        picked = compute(f"{name}.index", keys.lines, (last, best, *keys.reads), index)
        if not copies:
            return [picked], [picked]
        return [picked], [compute(f"{name}.copies", (*keys.lines, 4), (picked,), lambda *at: picked.read(at[:-1]))]

    _, (rows,) = loop(name, count, [start], step)
    return Order(rows, by_place=True, copies=copies)


def sort(name: str, keys: Keys) -> Order:
    """All elements of each line, then indices beyond the end up to a power of two (bitonic sort; Batcher, 1968)."""
    n = keys.n
    size = 1 << max(capacity(n) - 1, 0).bit_length()
    stages = [(2 << k, 1 << d) for k in range(size.bit_length() - 1) for d in reversed(range(k + 1))]
    start = compute(f"{name}.indices", (*keys.lines, size), (), lambda *at: at[-1])
    if not stages:
        return Order(start, by_place=False)
    blocks = constant(f"{name}.blocks", np.array([block for block, _ in stages], np.int32))
    distances = constant(f"{name}.distances", np.array([distance for _, distance in stages], np.int32))

    def exchange(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (order,) = carried

        def body(*at: Expr) -> Expr:
            *line, i = at
            block, distance = blocks.read((t,)), distances.read((t,))
            lower = (i & distance).eq(0)
            other = within(select(lower, i + distance, i - distance), size)
            a, b = order.read((*line, i)), order.read((*line, other))
            # Those beyond the end, which have no key, come last: larger indices after smaller ones.
            first = select((a < n) & (b < n), keys.before(line, a, b), a < b)
            rising = (i & block).eq(0)
            return select(first.eq(lower.eq(rising)), a, b)

        return [compute(f"{name}.order", order.shape, (order, blocks, distances, *keys.reads), body)], []

    (result,), _ = loop(name, len(stages), [start], exchange)
    return Order(result, by_place=False)


def rank(name: str, keys: Keys, count: Size) -> Order:
    """The first `count` elements: each has as many before it as its place says."""
    of_line = _falling(f"{name}.keys", keys)

    def before(*at: Expr) -> Expr:
        *line, i = at

        def comes_first(j: Expr) -> Expr:
            here, other = of_line.read(at), of_line.read((*line, j))
            return select((here < other) | (here.eq(other) & (j < i)), 1, 0)

        return reduce("sum", (keys.n,), comes_first)

    ranks = compute(f"{name}.ranks", of_line.shape, (of_line,), before)

    def index(*at: Expr) -> Expr:
        *line, place = at
        return reduce("sum", (keys.n,), lambda i: select(ranks.read((*line, i)).eq(place), i, 0))

    return Order(compute(f"{name}.order", (*keys.lines, count), (ranks,), index), by_place=False)


def select_first(name: str, keys: Keys, count: Size, order: Callable[[str, Keys], Order]) -> Order:
    """The first `count` elements: those before a threshold, and the first of those equal to it, in the order that
    `order` finds of them alone."""
    n, lines = keys.n, keys.lines
    of_line = _falling(f"{name}.keys", keys)
    least = threshold(f"{name}.threshold", of_line, count)
    taken = _taken(f"{name}.taken", of_line, least, count)
    found = places(f"{name}.places", taken, count)

    def key(*at: Expr) -> Expr:
        return of_line.read((*at[:-1], within(found.read(at), n)))

    chosen = compute(f"{name}.chosen", found.shape, (of_line, found), key)
    of_chosen = Keys(lines, count, lambda line, i: chosen.read((*line, i)), (chosen,), largest=True)
    ordered = order(f"{name}.order", of_chosen)

    def index(*at: Expr) -> Expr:
        *line, place = at
        return found.read((*line, within(ordered.at(line, place), count)))

    return Order(compute(f"{name}.first", found.shape, (found, ordered.rows), index), by_place=False)


def _taken(name: str, keys: Tensor, least: Tensor, count: Size) -> Tensor:
    """How many keys of a line, up to each, are among the first `count`: those above `least` and, while there is room,
    those equal to it. Both are counted at once in one integer where it has bits for both."""
    n = keys.shape[-1]
    bits = capacity(n).bit_length()
    together = 2 * bits < I32.bits

    def is_above(at: tuple[Expr, ...]) -> Expr:
        return keys.read(at) > least.read(at[:-1] or (Const(0),))

    def is_equal(at: tuple[Expr, ...]) -> Expr:
        return keys.read(at).eq(least.read(at[:-1] or (Const(0),)))

    def mark_both(*at: Expr) -> Expr:
        return select(is_above(at), 1 << bits, is_equal(at).cast(I32))

    def mark(*at: Expr) -> Expr:
        return select(at[0].eq(0), is_above(at[1:]).cast(I32), is_equal(at[1:]).cast(I32))

    shape, body = (keys.shape, mark_both) if together else ((2, *keys.shape), mark)
    marks = compute(f"{name}.marks", shape, (keys, least), body)
    sums = running(f"{name}.sums", "sum", marks, marks.rank - 1)

    def counts(at: tuple[Expr, ...]) -> tuple[Expr, Expr]:
        if together:
            both = sums.read(at)
            return binary("shr", both, bits), both & ((1 << bits) - 1)
        return sums.read((Const(0), *at)), sums.read((Const(1), *at))

    def so_far(*at: Expr) -> Expr:
        above, equal = counts(at)
        all_above, _ = counts((*at[:-1], within(number(n) - 1, n)))
        return above + minimum(equal, number(count) - all_above)

    return compute(name, keys.shape, (sums,), so_far)


def _falling(name: str, keys: Keys) -> Tensor:
    """The keys, [..., n], of at least 32 bits, so that the largest comes first."""

    def key(*at: Expr) -> Expr:
        k = keys.of(at[:-1], at[-1])
        k = k if k.dtype.bits >= 32 else k.cast(I32)
        return k if keys.largest else (highest(k.dtype) + lowest(k.dtype)) - k

    return compute(name, (*keys.lines, keys.n), keys.reads, key)
