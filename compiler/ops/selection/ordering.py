"""Sorting, running counts and the places of what is true, in numbers of steps that grow with the logarithm of a size.

All are loops of one short kernel, so that they take no more code for longer tensors, and run in parallel on every
target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...dtypes import I32, highest, lowest
from ...ir.construct import maximum, minimum, select
from ...ir.nodes import Const, Expr, ExprLike, Scalar
from ...ir.sizes import Size, capacity, divides, number, product
from ...tensor import Tensor, compute, constant, reduce
from ...tensor.computed_sizes import computed_size
from ...tensor.structure import loop
from ..reductions.running import running


def within(index: ExprLike, n: Size) -> Expr:
    """The nearest index of a dimension of `n`; 0 where it has none."""
    return maximum(minimum(index if isinstance(index, Expr) else Const(index), number(n) - 1), 0)


def count_of(name: str, sums: Tensor) -> Scalar:
    """The last of an int32 vector's running counts, as a size: at most as many as there are elements."""
    n = sums.shape[0]
    last = compute(f"{name}.count", (1,), (sums,), lambda _: sums.read((within(number(n) - 1, n),), Const(0) < n, 0))
    return computed_size(f"{name}.count", capacity(n) + 1, last)


def places(name: str, sums: Tensor, count: Size) -> Tensor:
    """Where the k-th true element is, for each of so many: `sums` are the running counts. By halving (binary search),
    all of them at once."""
    n = sums.shape[0]
    steps = capacity(n).bit_length()
    lengths = _table(f"{name}.steps", [1 << s for s in reversed(range(steps))] or [0])
    start = compute(f"{name}.first", (count,), (), lambda _: Const(0))

    def narrow(t: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        (positions,) = carried

        def body(k: Expr) -> Expr:
            further = positions.read((k,)) + lengths.read((t,))
            passed = sums.read((within(further - 1, n),)) <= k
            return select((further <= n) & passed, further, positions.read((k,)))

        return [compute(f"{name}.places", (count,), (sums, positions, lengths), body)], []

    (result,), _ = loop(name, steps, [start], narrow)
    return result


def chosen(name: str, mask: Tensor) -> tuple[Scalar, Tensor]:
    """How many elements of a bool vector are true, and where they are, in order: int32."""
    ones = compute(f"{name}.ones", mask.shape, (mask,), lambda i: mask.read((i,)).cast(I32))
    sums = running(f"{name}.sums", "sum", ones, 0)
    count = count_of(name, sums)
    return count, places(f"{name}.places", sums, count)


MOST_SORTED = 1 << 30
"""Elements of a line that can be sorted: a block of the network is up to twice as long, and its length an int32."""


@dataclass(frozen=True, slots=True)
class Order:
    """The indices of the elements of lines in an order: `rows` has a row for each place, or a column. A row may have
    `copies` of each index."""

    rows: Tensor
    by_place: bool
    copies: bool = False

    def at(self, line: Sequence[Expr], place: Expr) -> Expr:
        """The index of the element at a place."""
        if not self.by_place:
            return self.rows.read((*line, place))
        return self.rows.read((place, *line, *((Const(0),) if self.copies else ())))


@dataclass(frozen=True, slots=True)
class Keys:
    """Lines of `n` elements each, in the order of `of(line, index)`, a `sort_key`: falling where `largest`, else
    rising; elements of equal keys in the order of their indices. `reads` are the tensors that it reads."""

    lines: tuple[Size, ...]
    n: Size
    of: Callable[[Sequence[Expr], Expr], Expr]
    reads: tuple[Tensor, ...]
    largest: bool

    def before(self, line: Sequence[Expr], a: Expr, b: Expr) -> Expr:
        """Whether the element `a` comes before `b`."""
        x, y = (self.of(line, within(i, self.n)) for i in (a, b))
        greater, less = y < x, x < y
        first, second = (greater, less) if self.largest else (less, greater)
        return first | ~second & (a < b)


def first_in_order(name: str, keys: Keys, count: Size) -> Order:
    """The first `count` elements of each line: one after the other where they are few, else all are sorted."""
    n = capacity(keys.n)
    depth = max(n - 1, 0).bit_length()
    few = 2 * capacity(count) <= depth * (depth + 1) // 2
    return _picked(name, keys, count) if few else sorted_order(name, keys)


def sorted_order(name: str, keys: Keys) -> Order:
    """All elements of each line, then indices beyond the end up to a power of two (bitonic sort; Batcher, 1968)."""
    n = keys.n
    size = 1 << max(capacity(n) - 1, 0).bit_length()
    depth = size.bit_length() - 1
    stages = [(2 << k, 1 << d) for k in range(depth) for d in reversed(range(k + 1))]
    start = compute(f"{name}.indices", (*keys.lines, size), (), lambda *at: at[-1])
    if not stages:
        return Order(start, by_place=False)
    blocks = _table(f"{name}.blocks", [block for block, _ in stages])
    distances = _table(f"{name}.distances", [distance for _, distance in stages])

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


def _picked(name: str, keys: Keys, count: Size) -> Order:
    """In each step the first of those that come after the last one. Where rows of a stack would not be whole vectors,
    as stores to textures require them, they have four copies of each index."""
    copies = not divides(4, product(keys.lines))
    start = compute(f"{name}.none", keys.lines, (), lambda *_: Const(-1))

    def pick(_: Scalar, carried: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
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

    _, (rows,) = loop(name, count, [start], pick)
    return Order(rows, by_place=True, copies=copies)


def _table(name: str, values: Sequence[int]) -> Tensor:
    return constant(name, np.array(values, np.int32))
