"""Pipelines are tuples of functions from a value to the next; an observer receives each result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

Observer = Callable[[str, object], None]
"""Called with the name and the result of each stage: its very input, where it changed nothing."""


def ignore(_: str, __: object) -> None:
    """The observer that ignores all results."""


def run_passes(value: T, passes: Iterable[Callable[[T], T]], observe: Callable[[str, T], None] = ignore) -> T:
    """`value` after all of `passes`, in order."""
    for run in passes:
        value = run(value)
        observe(run.__name__, value)
    return value


def names_of(passes: Iterable[Callable[[T], T]]) -> tuple[str, ...]:
    """The names of the stages that `run_passes` reports, each once."""
    return tuple(dict.fromkeys(run.__name__ for run in passes))
