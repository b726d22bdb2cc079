"""The steps of a program: launches, or whatever else a target carries out, with loops and branches around them.

    Step = Leaf | Loop(counter: Scalar, trips: Size, condition: Location?, body: Step*)
         | Branch(condition: Location | Expr, then: Step*, otherwise: Step*)

Steps run in order. A `Loop` repeats its body for counter = 0, 1, ... while that is less than `trips`, and the bool at
the place of the condition, if it has one, is true; `trips` is computed once, before the loop, the condition is read
before each iteration. A `Branch` runs one of two sequences, by the bool at a place or by an expression of scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Union

from ..ir.nodes import Expr, Scalar
from ..ir.sizes import Size

Leaf = TypeVar("Leaf", covariant=True)
Location = TypeVar("Location", covariant=True)


@dataclass(frozen=True, slots=True)
class Loop(Generic[Leaf, Location]):
    """Repeats `body`: see above."""

    counter: Scalar
    trips: Size
    condition: Location | None
    body: Sequence[Leaf | Loop[Leaf, Location] | Branch[Leaf, Location]]


@dataclass(frozen=True, slots=True)
class Branch(Generic[Leaf, Location]):
    """Runs `then` where `condition` holds, else `otherwise`: the bool at a place, or one that scalars decide."""

    condition: Location | Expr
    then: Sequence[Leaf | Loop[Leaf, Location] | Branch[Leaf, Location]]
    otherwise: Sequence[Leaf | Loop[Leaf, Location] | Branch[Leaf, Location]]


Step = Union[Leaf, Loop[Leaf, Location], Branch[Leaf, Location]]  # noqa: UP007  mypy takes no other alias of a variable
Steps = Sequence[Leaf | Loop[Leaf, Location] | Branch[Leaf, Location]]


def leaves(steps: Steps[Leaf, Any]) -> Iterator[Leaf]:
    """All leaves as they stand: those of a loop's body, and of both sides of a branch, once."""
    for step in steps:
        if isinstance(step, Loop):
            yield from leaves(step.body)
        elif isinstance(step, Branch):
            yield from leaves(step.then)
            yield from leaves(step.otherwise)
        else:
            yield step
