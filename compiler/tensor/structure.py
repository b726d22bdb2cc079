"""Control flow between tensors: loops and branches around regions of tensors.

    Loop   = (counter, trips, condition?, carried: (start, inside, next)*, stacked: row*)
    Branch = (condition, then: Tensor*, otherwise: Tensor*, outside)

A loop repeats its body while `counter` < `trips` and the condition holds, which is one of what is carried. In the body
`inside` is the carried value: that of `start` in the first iteration, that of `next` of the iteration before in all
others. The results of a loop are the carried values after its last iteration, then for each `row` all of its rows,
stacked along a new first dimension of `trips`: where the condition ends the loop before, those after have no particular
value. A branch has the results of one of its two regions.

The body of a loop is what its `next` and `row` depend on and what depends on `inside` or on `counter`; all else that
they depend on is computed once, before the loop. A region of a branch is what it alone depends on: not the tensors
`outside`, which exist whichever region runs.

The results are tensors without a body (`Tensor.source`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ..ir.nodes import Const, Scalar
from ..ir.sizes import Size, counter_of, size
from .tensor import Tensor, compute, placeholder


@dataclass(frozen=True, eq=False, slots=True)
class Carried:
    """A value that passes from one iteration to the next; all three tensors are of one shape and dtype."""

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
        """What the body computes for the outside."""
        return (*(c.next for c in self.carried), *self.rows)


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """`condition` is a scalar bool. Results of `then` and `otherwise` are of one shape and dtype, pair by pair."""

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
) -> tuple[list[Tensor], list[Tensor]]:
    """The carried values after a loop, and its stacked rows. The counter is a new scalar where none is given."""
    if counter is None:
        counter = counter_of(f"{name}.t", trips)
    inside = [placeholder(f"{name}.carried{i}", t.shape, t.dtype) for i, t in enumerate(starts)]
    nexts, rows = body(counter, inside)
    if trips == 0:
        return [_copy(f"{name}.final{i}", t) for i, t in enumerate(starts)], [
            compute(f"{name}.rows{i}", (0, *t.shape), (), lambda *_, t=t: Const(0).cast(t.dtype))
            for i, t in enumerate(rows)
        ]
    starts = [_copy(f"{name}.start{i}", t) for i, t in enumerate(starts)]
    # The memory of a carried value is that of its start, and of the next one: each is a tensor of its own.
    own = [_copy(f"{name}.next{i}", t) for i, t in enumerate(nexts)]
    passed_on = dict(zip(nexts, own, strict=True))
    rows = [_copy(f"{name}.row{i}", passed_on.get(t, t)) for i, t in enumerate(rows)]
    carried = tuple(Carried(*each) for each in zip(starts, inside, own, strict=True))
    made = Loop(name, counter, size(trips), condition, carried, tuple(rows))
    finals = [_result(made, i, f"{name}.final{i}", t, t.shape) for i, t in enumerate(own)]
    first = len(finals)
    return finals, [_result(made, first + i, f"{name}.rows{i}", t, (made.trips, *t.shape)) for i, t in enumerate(rows)]


def branch(
    name: str,
    condition: Tensor,
    then: Sequence[Tensor],
    otherwise: Sequence[Tensor],
    outside: Sequence[Tensor],
) -> list[Tensor]:
    """The results of `then` where the condition holds, else those of `otherwise`, which are of the same shapes."""
    first = tuple(_copy(f"{name}.then{i}", t) for i, t in enumerate(then))
    second = tuple(_copy(f"{name}.else{i}", t) for i, t in enumerate(otherwise))
    made = Branch(name, condition, first, second, frozenset(outside))
    return [_result(made, i, f"{name}.result{i}", t, t.shape) for i, t in enumerate(made.then)]


def _copy(name: str, t: Tensor) -> Tensor:
    return compute(name, t.shape, (t,), lambda *i: t.read(i))


def _result(structure: Structure, index: int, name: str, like: Tensor, shape: Sequence[Size]) -> Tensor:
    return replace(placeholder(name, shape, like.dtype), source=Source(structure, index))
