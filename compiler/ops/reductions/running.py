"""Running sums and products: each element of a line is combined with all before it.

A short line is a triangle: each result is a reduction of its own, all at once. A longer one is cut into blocks, of which
each is a triangle; the totals of the blocks have running sums by the same means, and each element is combined with that
of the blocks before its own. So n elements take about 33 n operations, and two kernels more for each factor of 32.
Results are combinations of elements up to their own and of nothing else: an infinity or NaN reaches only those after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.construct import binary, select
from ...ir.nodes import Const, Expr
from ...ir.reduction import COMBINE, neutral
from ...ir.sizes import capacity, ceiling, number
from ...tensor import Tensor, compute
from .reduce_axes import reduce_over

BLOCK = 32

LONGEST = 64


def running(name: str, op: str, t: Tensor, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    if capacity(t.shape[axis]) <= LONGEST:
        return _triangle(name, op, t, axis, exclusive, reverse)
    return _in_blocks(name, op, t, axis, exclusive, reverse)


def _triangle(name: str, op: str, t: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    start = neutral(COMBINE[op], t.dtype).value

    def body(*axes: Expr) -> Expr:
        here = axes[axis]

        def element(other: Expr) -> Expr:
            first, second = (here, other) if reverse else (other, here)
            counted = first < second if exclusive else first <= second
            return t.read([other if d == axis else a for d, a in enumerate(axes)], counted, start)

        return reduce_over(op, (t.shape[axis],), element)

    return compute(name, t.shape, (t,), body)


def _in_blocks(name: str, op: str, t: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    n = t.shape[axis]
    blocks = ceiling(n, BLOCK)
    nothing = neutral(COMBINE[op], t.dtype)

    def at(index: Sequence[Expr], *places: Expr) -> list[Expr]:
        """An index with other places along the axis."""
        return [*index[:axis], *places, *index[len(index) - (t.rank - axis - 1) :]]

    def body(*index: Expr) -> Expr:
        block, here = index[axis], index[axis + 1]

        def element(other: Expr) -> Expr:
            place = block * BLOCK + other
            # A condition on a value, since a guard that differs from lane to lane takes the lanes away.
            counted = here <= other if reverse else other <= here
            return select(counted, t.read(at(index, place), place < n, nothing.value), nothing)

        return reduce_over(op, (BLOCK,), element)

    inside = compute(f"{name}.blocks", at(t.shape, blocks, BLOCK), (t,), body)
    last = Const(0 if reverse else BLOCK - 1)
    totals = compute(f"{name}.totals", at(t.shape, blocks), (inside,), lambda *i: inside.read(at(i, i[axis], last)))
    sums = running(f"{name}.sums", op, totals, axis, exclusive=True, reverse=reverse)

    def inclusive(*index: Expr) -> Expr:
        i = index[axis]
        block = i // BLOCK
        return binary(COMBINE[op], inside.read(at(index, block, i % BLOCK)), sums.read(at(index, block)))

    if not exclusive:
        return compute(name, t.shape, (inside, sums), inclusive)
    every = compute(f"{name}.inclusive", t.shape, (inside, sums), inclusive)

    def before(*index: Expr) -> Expr:
        i = index[axis]
        other = i + 1 if reverse else i - 1
        there = other < number(n) if reverse else other >= 0
        return every.read(at(index, other), there, nothing.value)

    return compute(name, t.shape, (every,), before)
