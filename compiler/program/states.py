"""States outlive a run: an output is the input of the next one, and both have one memory.

A session is such memory: of zeros at the start, of which no row is in use. Each run takes the lengths that the one
before has left (`Dimension.after`), and leaves others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..ir.nodes import Scalar
from ..ir.sizes import Size, equal, number, scalars_of, size, value_of
from .dimensions import Dimension


@dataclass(frozen=True, slots=True)
class State:
    """Names of an input of a run, and of the output that the next run finds there. One that is `overwritten` is not
    known to begin with what the run has found; one that `stays` is so, and yet left as it is where others drop rows."""

    before: str
    after: str
    stays: bool = False
    overwritten: bool = False

    def __str__(self) -> str:
        return f"{self.before}={self.after}"


class StateFullError(InputError):
    """A run that needs more room than the state has; it computes nothing."""


def grows(d: Dimension) -> bool:
    """Whether a run changes the length of states that the dimension is."""
    return d.after is not None and not equal(d.after, size(d.scalar * d.multiple))


def counted_rows(dimensions: Sequence[Dimension]) -> Dimension | None:
    """The length that positions count: the first that grows."""
    return next(filter(grows, dimensions), None)


def follows(dimensions: Sequence[Dimension], d: Dimension) -> bool:
    """Whether a length grows by as many rows as that which positions count."""
    counted = counted_rows(dimensions)
    return counted is not None and bool(equal(_added(d), _added(counted)))


def grow_apart(dimensions: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """The lengths that grow by other numbers of rows than that which positions count."""
    return tuple(d for d in dimensions if grows(d) and not follows(dimensions, d))


def _added(d: Dimension) -> Size:
    """The rows that a run adds."""
    return size(number(0 if d.after is None else d.after) - d.scalar * d.multiple)


def lengths_at_start(dimensions: Sequence[Dimension]) -> dict[Scalar, int]:
    """The scalars of states that have no rows."""
    return {d.scalar: 0 for d in dimensions if d.after is not None}


def lengths_after(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int]) -> dict[Scalar, int]:
    """The scalars of states after a run with these `scalars`, those that it computed among them."""
    return {d.scalar: value_of(d.after, scalars) // d.multiple for d in dimensions if d.after is not None}


def dropped_rows(dimensions: Sequence[Dimension], d: Dimension) -> Dimension | None:
    """The dimension that counts the rows that are dropped of the states of `d`; None where none are."""
    return next((c for c in dimensions if c.dropped_of == d.name), None)


def rows_ever(dimensions: Sequence[Dimension], d: Dimension, scalars: Mapping[Scalar, int]) -> int:
    """The rows of the states of `d`, those among them that were dropped."""
    dropped = dropped_rows(dimensions, d)
    return (scalars[d.scalar] + (0 if dropped is None else scalars[dropped.scalar])) * d.multiple


def within_window(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int]) -> dict[Scalar, int]:
    """The `scalars` of a run that finds no more than the newest rows of states, half of the window or as many less as
    its own rows need, where it would leave more than the window holds. So rows are moved once in half a window."""
    found = dict(scalars)
    for d in dimensions:
        dropped = dropped_rows(dimensions, d)
        if d.window is None or d.after is None or dropped is None or (left := value_of(d.after, found)) <= d.window:
            continue
        new = left - found[d.scalar] * d.multiple
        stay = min(d.window // 2, d.window - new) // d.multiple
        found[dropped.scalar] += found[d.scalar] - stay
        found[d.scalar] = stay
    return found


def check_room(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int]) -> None:
    """Raises StateFullError where a run would begin with more rows than the model was compiled for, of which it drops
    none, or leave more than it has positions for."""
    for d in dimensions:
        if d.after is not None:
            known = all(s in scalars for s in scalars_of(number(d.after)))
            length = scalars[d.scalar] * d.multiple
            _check_rows(dimensions, d, scalars, value_of(d.after, scalars) - length if known else None)


def check_rows(dimensions: Sequence[Dimension], scalars: Mapping[Scalar, int], rows: int, most: int) -> None:
    """Raises StateFullError where runs of together so many `rows`, of `most` in one, would fill the states before the
    last of them."""
    d = counted_rows(dimensions)
    if d is not None:
        last = rows % most or most
        before = scalars[d.scalar] + (rows - last) // d.multiple
        _check_rows(dimensions, d, {**scalars, d.scalar: before}, last)


def _check_rows(dimensions: Sequence[Dimension], d: Dimension, scalars: Mapping[Scalar, int], more: int | None) -> None:
    """Raises StateFullError for a run that begins with `scalars`, and adds so many rows to a length."""
    length = scalars[d.scalar] * d.multiple
    if length > d.most and dropped_rows(dimensions, d) is None:
        raise StateFullError(
            f"the state is full: {d.name} is {length}, and the model was compiled for at most {d.most}; reset it, "
            f"rewind it, or compile with a larger --dim {d.name}={d.least}..N"
        )
    before = rows_ever(dimensions, d, scalars)
    if d.limit is not None and more is not None and before + more > d.limit:
        raise StateFullError(
            f"the state is full: {d.name} is {before} and would become {before + more}, and the model has {d.limit} "
            "positions; reset it, rewind it, or run with less"
        )
