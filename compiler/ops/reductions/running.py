"""Running sums and products: each element of a line is combined with all before it.

A short line is a triangle: each result is a reduction of its own, all at once. A longer one is cut into blocks, of
which each is a triangle; the totals of the blocks have running sums by the same means, and each element is combined
with that of the blocks before its own. So n elements take about 33 n operations, and two kernels more for each factor
of 32. Results are combinations of elements up to their own and of nothing else: infinities and NaN reach only those
after them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from ...ir.construct import select
from ...ir.nodes import Const, Expr
from ...ir.reduction import COMBINE, neutral
from ...ir.sizes import capacity, ceiling, divides, number
from ...tensor import Tensor, compute
from .reduce_axes import reduce_over

T = TypeVar("T")

BLOCKS = (32, 48, 64, 40, 56)
"""Lengths of blocks. The first that divides a line has no rest; else it is the first."""

LONGEST = 64
"""Elements of a triangle: as many loads of one invocation take about as long as the two kernels more of blocks, and a
processor needs the time for few lines only."""


def running(name: str, op: str, t: Tensor, axis: int, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """The `op`, sum or prod, of all elements of `t` up to each along `axis`, itself included unless `exclusive`; from
    the end on where `reverse`."""
    if capacity(t.shape[axis]) > LONGEST:
        return _in_blocks(name, op, t, axis, exclusive, reverse)
    return _triangle(name, op, t, axis, exclusive, reverse)


def _triangle(
    name: str, op: str, t: Tensor, axis: int, exclusive: bool, reverse: bool, *, in_lanes: bool = False
) -> Tensor:
    """A reduction over the line for each result. `in_lanes`: of all elements, those that do not count as neutral ones,
    since a guard that differs from lane to lane takes the lanes away."""
    nothing = neutral(COMBINE[op], t.dtype)

    def body(*axes: Expr) -> Expr:
        here = axes[axis]

        def element(other: Expr) -> Expr:
            counted = _counts(other, here, exclusive, reverse)
            place = [other if d == axis else a for d, a in enumerate(axes)]
            return select(counted, t.read(place), nothing) if in_lanes else t.read(place, counted, nothing.value)

        return reduce_over(op, (t.shape[axis],), element)

    return compute(name, t.shape, (t,), body)


def _counts(other: Expr, here: Expr, exclusive: bool, reverse: bool) -> Expr:
    """Whether the result at `here` has the element at `other`."""
    first, second = (here, other) if reverse else (other, here)
    return first < second if exclusive else first <= second


def _in_blocks(name: str, op: str, t: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """Triangles of blocks, each combined with the totals of those before it. A result without its own element is that
    at the place before: a difference would be NaN behind an infinity."""
    n = t.shape[axis]
    length = next((b for b in BLOCKS if divides(b, n)), BLOCKS[0])
    blocks = ceiling(n, length)
    nothing = neutral(COMBINE[op], t.dtype)

    def at(index: Sequence[T], *places: T) -> list[T]:
        """An index with other places along the axis."""
        return [*index[:axis], *places, *index[len(index) - (t.rank - axis - 1) :]]

    def triangle(*index: Expr) -> Expr:
        block, here = index[axis], index[axis + 1]

        def element(other: Expr) -> Expr:
            place = block * length + other
            value = t.read(at(index, place), place < n, nothing.value)
            return select(_counts(other, here, False, reverse), value, nothing)

        return reduce_over(op, (length,), element)

    # Parts of a sum may be larger than the sum: they are not stored in float16.
    inside = replace(compute(f"{name}.blocks", at(t.shape, blocks, length), (t,), triangle), exact=True)
    last = Const(0 if reverse else length - 1)
    totals = compute(f"{name}.totals", at(t.shape, blocks), (inside,), lambda *i: inside.read(at(i, i[axis], last)))
    of_totals = _in_blocks if capacity(blocks) > LONGEST else partial(_triangle, in_lanes=True)
    sums = replace(of_totals(f"{name}.sums", op, totals, axis, True, reverse), exact=True)

    def inclusive(*index: Expr) -> Expr:
        block, here = index[axis] // length, index[axis] % length
        own, before = inside.read(at(index, block, here)), sums.read(at(index, block))
        return before + own if op == "sum" else before * own

    if not exclusive:
        return compute(name, t.shape, (inside, sums), inclusive)
    every = compute(f"{name}.inclusive", t.shape, (inside, sums), inclusive)

    def shifted(*index: Expr) -> Expr:
        other = index[axis] + (1 if reverse else -1)
        there = other < number(n) if reverse else other >= 0
        return every.read(at(index, other), there, nothing.value)

    return compute(name, t.shape, (every,), shifted)
