"""Decisions of schedules as data: each is made by name among legal options.

A decision's options are ordered, what its heuristic prefers first, so `First` is the default schedule. `Record` takes
any options and lists them, which discovers the space of a kernel as it is scheduled; `Replay` makes recorded decisions
again. A decision may open others: the space is a tree. Combinations that only turn out to be illegal later raise
ScheduleError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeVar

from .errors import InternalError, ScheduleError

T = TypeVar("T")
"""Options are what JSON has: integers, strings, booleans, None, and tuples of these."""

VERSION = 1
"""Version of the search spaces, in the cache keys of code that records choose. Increases whenever a decision changes
its meaning."""


class Choices(Protocol):
    def choose(self, name: str, options: Sequence[T]) -> T:
        """One of `options`, which are at least one and all different. `name` occurs once in a kernel."""
        ...


@dataclass(frozen=True, slots=True)
class First:
    """The default schedule: what the heuristics prefer."""

    def choose(self, name: str, options: Sequence[T]) -> T:
        return options[0]


DEFAULT: Choices = First()


@dataclass(frozen=True, slots=True)
class Decision:
    """The chosen one of the options."""

    options: tuple[Any, ...]
    chosen: Any


@dataclass(slots=True)
class Record:
    """Takes options at random; `decisions` lists them by name, in the order in which they were made, but for those that
    had a single option."""

    random: Random
    decisions: dict[str, Decision] = field(default_factory=dict)

    def choose(self, name: str, options: Sequence[T]) -> T:
        if name in self.decisions or not options or len(set(options)) < len(options):
            raise InternalError(f"choices: {name} is decided twice, or its options {list(options)} are not a set")
        if len(options) == 1:
            return options[0]
        chosen = self.random.choice(options)
        self.decisions[name] = Decision(tuple(options), chosen)
        return chosen

    @property
    def chosen(self) -> dict[str, Any]:
        """The record that `Replay` takes."""
        return {name: d.chosen for name, d in self.decisions.items()}


@dataclass(frozen=True, slots=True)
class Replay:
    """Decisions by name; those that `record` lacks are the default ones.

    Raises ScheduleError where a recorded option is not legal here: the record is of another kernel or target. A
    `lenient` one takes the default of that decision.
    """

    record: Mapping[str, Any]
    lenient: bool = False

    def choose(self, name: str, options: Sequence[T]) -> T:
        if name not in self.record:
            return options[0]
        recorded = from_json(self.record[name])
        for option in options:
            if option == recorded and type(option) is type(recorded):
                return option
        if self.lenient:
            return options[0]
        raise ScheduleError(f"choices: {name}={recorded!r} is none of {list(options)}")


@dataclass(slots=True)
class Listed:
    """Decides as `choices` do, and lists the decisions like `Record`."""

    choices: Choices
    decisions: dict[str, Decision] = field(default_factory=dict)

    def choose(self, name: str, options: Sequence[T]) -> T:
        chosen = self.choices.choose(name, options)
        if len(options) > 1:
            self.decisions[name] = Decision(tuple(options), chosen)
        return chosen


@dataclass(frozen=True, slots=True)
class Scope:
    """Decisions of one of several parts of a kernel: their names begin with the part's."""

    choices: Choices
    part: str

    def choose(self, name: str, options: Sequence[T]) -> T:
        return self.choices.choose(f"{self.part}.{name}", options)


def part_of(choices: Choices, number: int, parts: Sequence[object]) -> Choices:
    """The decisions of one of several `parts` in sequence; a single one needs no name."""
    return Scope(choices, f"part{number}") if len(parts) > 1 else choices


def ordered(preferred: T, others: Sequence[T]) -> list[T]:
    """Options: `preferred`, then the others."""
    return [preferred, *(o for o in dict.fromkeys(others) if o != preferred)]


def key_of_choices(choices: Choices) -> str:
    """A cache key that distinguishes the code that `choices` lead to."""
    if isinstance(choices, Replay):
        return json.dumps([VERSION, sorted(choices.record.items()), choices.lenient])
    if isinstance(choices, First):
        return ""
    raise InternalError(f"choices: {type(choices).__name__} has no key; what it makes is not kept")


def from_json(option: Any) -> Any:
    """The option as it was before JSON, which has no tuples."""
    return tuple(map(from_json, option)) if isinstance(option, list | tuple) else option
