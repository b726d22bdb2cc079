"""Live ranges of values, by steps. Aliases share their owner's memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..errors import InternalError

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Access(Generic[Value]):
    """The values, without constants, that a step reads and writes. All are live during the whole step: a result
    may replace an operand only as its alias."""

    reads: tuple[Value, ...]
    writes: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class LiveRange:
    """Numbers of steps, both included. -1 is before the first step, the number of all steps after the last."""

    first: int
    last: int


def owner_of(value: Value, aliases: Mapping[Value, Value]) -> Value:
    """The owner of the memory of `value`: itself, if it is no alias."""
    while value in aliases:
        value = aliases[value]
    return value


def live_ranges(
    steps: Sequence[Access[Value]],
    aliases: Mapping[Value, Value],
    before: Iterable[Value] = (),
    after: Iterable[Value] = (),
    loops: Iterable[tuple[int, int]] = (),
) -> dict[Value, LiveRange]:
    """By owner of memory, of all values that any step accesses or that are given before the first one.

    `before` are written before the first step, `after` read after the last. `loops` are the first and the last steps of
    those that are repeated, inner loops first: what was written before is kept for the next iteration. Raises
    InternalError for a value that is read but was never written.
    """
    owners: dict[Value, Value] = {}

    def owner(value: Value) -> Value:
        if value not in owners:
            owners[value] = owner_of(value, aliases)
        return owners[value]

    first = {owner(v): -1 for v in before}
    last = dict(first)
    for number, step in enumerate((*steps, Access(tuple(after), ()))):
        for v in step.writes:
            first.setdefault(owner(v), number)
        for v in (*step.reads, *step.writes):
            if owner(v) not in first:
                raise InternalError(f"live_ranges: step {number} reads {v}, which no step before it writes")
            last[owner(v)] = number
    for begin, end in loops:
        for v in first:
            if first[v] < begin <= last[v] < end:
                last[v] = end
    return {v: LiveRange(first[v], last[v]) for v in first}
