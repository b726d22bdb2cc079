"""Control flow between tensors: loops and branches around regions of tensors.

    Loop   = (counter, trips, condition?, carried: (start, inside, next)*, stacked: row*)
    Branch = (condition, then: Tensor*, otherwise: Tensor*, outside)

A loop repeats its body while `counter` < `trips` and the condition holds, which is one of what is carried. In the body
`inside` is the carried value: that of `start` in the first iteration, that of `next` of the iteration before in all
others. The results of a loop are the carried values after its last iteration, then for each `row` all of its rows,
stacked along a new first dimension of `trips`: where the condition ends the loop before, those after have no particular
value. A branch has the results of one of its two regions.

Sizes may change. The shape of `inside` may grow with the counter; `start`, `inside` and `next` share the memory for the
largest, in which `start` fills the rest with zeros. Results of the regions of a branch have the memory of the larger
one, and a size that differs is a scalar whose source is one more result.

The body of a loop is what its `next` and `row` depend on and what depends on `inside` or on `counter`; all else that
they depend on is computed once, before the loop. A region of a branch is what it alone depends on: not the tensors
`outside`, which exist whichever region runs.

The results are tensors without a body (`Tensor.source`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..dtypes import I32
from ..ir.construct import all_of, maximum
from ..ir.nodes import Const, Expr, Scalar
from ..ir.rewrite import substitute
from ..ir.sizes import Size, capacities, capacity, counter_of, equal, larger, least, number, shown, size
from .computed_sizes import computed_size
from .tensor import Tensor, compute, constant, placeholder


@dataclass(frozen=True, eq=False, slots=True)
class Carried:
    """A value that passes from one iteration to the next; all three tensors are of one dtype, and have memory of one
    size. The shape of `inside` may grow with the counter."""

    start: Tensor
    inside: Tensor
    next: Tensor


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """`condition` is the index of the carried bool that has to hold for an iteration; None for a loop of just `trips`
    iterations."""

    name: str
    counter: Scalar
    trips: Size
    condition: int | None
    carried: tuple[Carried, ...]
    rows: tuple[Tensor, ...]

    @property
    def results(self) -> tuple[Tensor, ...]:
        """Tensors that the body computes for the outside."""
        return (*(c.next for c in self.carried), *self.rows)


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """`condition` is a scalar bool. Results of `then` and `otherwise` are of one capacity and dtype, pair by pair."""

    name: str
    condition: Tensor
    then: tuple[Tensor, ...]
    otherwise: tuple[Tensor, ...]
    outside: frozenset[Tensor]


Structure = Loop | Branch


@dataclass(frozen=True, slots=True)
class Source:
    """A tensor's elements are result `index` of `structure`."""

    structure: Structure
    index: int


Body = Callable[[Scalar, Sequence[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]]
"""From the counter and the carried values to the next ones, and the rows to stack."""


def loop(
    name: str,
    trips: Size,
    starts: Sequence[Tensor],
    body: Body,
    *,
    condition: int | None = None,
    counter: Scalar | None = None,
    shapes: Sequence[Sequence[Size]] | None = None,
    latches: Callable[[], Sequence[Tensor]] = tuple,
) -> tuple[list[Tensor], list[Tensor]]:
    """The carried values after a loop of `trips` iterations, which begin as `starts`, and its rows, each stacked along
    a new first dimension of `trips`. The counter is a new scalar where none is given; `condition` is the index of a
    carried bool that has to hold for an iteration. `shapes` are those of what is carried before each iteration, by the
    counter, where they are not all those of `starts`: they may grow. `latches`, called after the body, are its int32
    [1] of which the largest over all iterations, and 0, is a result behind the carried values. Raises TypeError where
    the body gives other shapes or dtypes, or another number of values."""
    if counter is None:
        counter = counter_of(f"{name}.t", trips)
    shapes = [t.shape for t in starts] if shapes is None else shapes
    # Memory is for what the last iteration leaves.
    extents = [capacities(after(shape, counter, counter + 1)) for shape in shapes]
    inside = [
        placeholder(f"{name}.carried{i}", shape, t.dtype, n)
        for i, (t, shape, n) in enumerate(zip(starts, shapes, extents, strict=True))
    ]
    nexts, rows = body(counter, inside)
    if trips == 0:
        return [_copy(f"{name}.final{i}", t) for i, t in enumerate(starts)], [
            compute(f"{name}.rows{i}", (0, *t.shape), (), lambda *_, t=t: Const(0).cast(t.dtype))
            for i, t in enumerate(rows)
        ]
    for t in latches():
        before = placeholder(f"{name}.carried{len(inside)}", (1,), I32)
        inside.append(before)
        starts = [*starts, constant(f"{t.name}.none", np.zeros(1, np.int32))]
        shapes, extents = [*shapes, (1,)], [*extents, (1,)]
        nexts = [*nexts, compute(f"{t.name}.latched", (1,), (before, t), lambda i, a=before, b=t: maximum(a[i], b[i]))]
    _check_carried(name, nexts, [replace(t, sizes=after(t.shape, counter, counter + 1)) for t in inside])
    starts = [_filled(f"{name}.start{i}", t, n) for i, (t, n) in enumerate(zip(starts, extents, strict=True))]
    # The memory of a carried value is that of its start, and of the next one: each is a tensor of its own.
    own = [_copy(f"{name}.next{i}", t) for i, t in enumerate(nexts)]
    passed_on = dict(zip(nexts, own, strict=True))
    rows = [_copy(f"{name}.row{i}", passed_on.get(t, t)) for i, t in enumerate(rows)]
    carried = tuple(Carried(*each) for each in zip(starts, inside, own, strict=True))
    structure = Loop(name, counter, size(trips), condition, carried, tuple(rows))
    finals = [
        _result(structure, i, f"{name}.final{i}", t, after(shape, counter, number(larger(trips, 0))), t.extents)
        for i, (t, shape) in enumerate(zip(own, shapes, strict=True))
    ]
    first = len(finals)
    return finals, [
        _result(structure, first + i, f"{name}.rows{i}", t, (structure.trips, *t.shape)) for i, t in enumerate(rows)
    ]


def _check_carried(name: str, nexts: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """Raises TypeError unless the next carried values are like the expected ones."""
    if len(nexts) != len(expected):
        raise TypeError(f"the body of loop {name} gives {len(nexts)} next values of the {len(expected)} carried ones")
    for i, (t, like) in enumerate(zip(nexts, expected, strict=True)):
        if t.dtype != like.dtype or t.rank != like.rank or not all(map(equal, t.shape, like.shape)):
            raise TypeError(
                f"the body of loop {name} gives {t.dtype}{shown(t.shape)} as carried value {i}, which is "
                f"{like.dtype}{shown(like.shape)}"
            )


def after(shape: Sequence[Size], counter: Scalar, iterations: Expr) -> tuple[Size, ...]:
    """A shape by the counter, after so many iterations."""
    return tuple(size(substitute(number(n), {counter: iterations})) for n in shape)


def branch(
    name: str,
    condition: Tensor,
    then: Sequence[Tensor],
    otherwise: Sequence[Tensor],
    outside: Sequence[Tensor],
) -> list[Tensor]:
    """The results of `then` where the condition holds, else those of `otherwise`, which are of the same ranks and
    dtypes. A size that differs is one more result of both, a scalar for what reads the others."""
    count = len(then)
    pairs = [tuple(zip(a.shape, b.shape, strict=True)) for a, b in zip(then, otherwise, strict=True)]
    differing = tuple(dict.fromkeys((a, b) for pair in pairs for a, b in pair if not equal(a, b)))
    extents = [tuple(map(max, a.extents, b.extents)) for a, b in zip(then, otherwise, strict=True)]

    def side(kind: str, results: Sequence[Tensor], sizes: Sequence[Size]) -> tuple[Tensor, ...]:
        own = [_filled(f"{name}.{kind}{i}", t, n) for i, (t, n) in enumerate(zip(results, extents, strict=True))]
        measured = [compute(f"{name}.{kind}.size{i}", (1,), (), lambda _, n=n: number(n)) for i, n in enumerate(sizes)]
        return (*own, *measured)

    first, second = (side("then", then, [a for a, _ in differing]), side("else", otherwise, [b for _, b in differing]))
    structure = Branch(name, condition, first, second, frozenset(outside))
    size_of: dict[tuple[Size, Size], Size] = {}
    for i, (a, b) in enumerate(differing):
        source = _result(structure, count + i, f"{name}.size{i}", first[count + i], (1,))
        most, low = max(capacity(a), capacity(b)), min(least(a), least(b))
        size_of[a, b] = computed_size(f"{name}.size{i}", most + 1, source, low)
    return [
        _result(structure, i, f"{name}.result{i}", first[i], [size_of.get(n, n[0]) for n in pair], extents[i])
        for i, pair in enumerate(pairs)
    ]


def _copy(name: str, t: Tensor) -> Tensor:
    return compute(name, t.shape, (t,), lambda *i: t.read(i))


def _filled(name: str, t: Tensor, extents: tuple[int, ...]) -> Tensor:
    """A copy in memory for `extents`: along those that are larger than its own all elements are there, the rest of them
    zero."""
    larger = [d for d, n in enumerate(extents) if n > t.extents[d]]
    shape = [extents[d] if d in larger else n for d, n in enumerate(t.shape)]
    if not larger:
        return _copy(name, t)
    return compute(name, shape, (t,), lambda *at: t.read(at, all_of(*(at[d] < t.shape[d] for d in larger))))


def _result(
    structure: Structure,
    index: int,
    name: str,
    like: Tensor,
    shape: Sequence[Size],
    extents: tuple[int, ...] | None = None,
) -> Tensor:
    return replace(placeholder(name, shape, like.dtype, extents), source=Source(structure, index))
