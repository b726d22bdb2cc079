"""States outlive a run: an output is the input of the next one, and both have one memory.

A session is such memory: of zeros at the start, of which no row is in use. Each run takes the lengths that the one
before has left (`Dimension.after`), and leaves others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..ir.nodes import Scalar
from ..ir.sizes import number, scalars_of, value_of
from .dimensions import Dimension


@dataclass(frozen=True, slots=True)
class State:
    """Names of an input of a run, and of the output that the next run finds there. One that `stays` is of no rows, and
    yet left as it is where others drop some."""

    before: str
    after: str
    stays: bool = False

    def __str__(self) -> str:
        return f"{self.before}={self.after}"


class StateFullError(InputError):
    """A run that needs more room than the state has; it computes nothing."""


def lengths_at_start(dimensions: Sequence[Dimension]) -> dict[Scalar, int]:
    """The scalars of states that have no rows."""
    return {d.scalar: 0 for d in dimensions if d.after is not None}


def lengths_after(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int]) -> dict[Scalar, int]:
    """The scalars of states after a run with these `scalars`, those that it computed among them."""
    return {d.scalar: value_of(d.after, scalars) // d.multiple for d in dimensions if d.after is not None}


def check_room(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int]) -> None:
    """Raises StateFullError where a run would begin with more rows than the model was compiled for, or leave more than
    it has positions for."""
    for d in dimensions:
        if d.after is None:
            continue
        length, known = scalars[d.scalar] * d.multiple, all(s in scalars for s in scalars_of(number(d.after)))
        if length > d.most:
            raise StateFullError(
                f"the state is full: {d.name} is {length}, and the model was compiled for at most {d.most}; reset it, "
                f"rewind it, or compile with a larger --dim {d.name}={d.least}..N"
            )
        if d.limit is not None and known and (after := value_of(d.after, scalars)) > d.limit:
            raise StateFullError(
                f"the state is full: {d.name} is {length} and would become {after}, and the model has {d.limit} "
                "positions; reset it, rewind it, or run with less"
            )
