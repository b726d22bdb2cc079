"""Results of pure functions of expressions, kept while a model is compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

MOST = 1 << 14
"""Results that are kept of each function; those unused for longest go first."""

F = TypeVar("F", bound=Callable[..., Any])

_clear: list[Callable[[], None]] = []


def memo(function: F) -> F:
    """The function, with the results of recent arguments kept.

    A proof about a size needs the interval of a term at every level of it: computed anew each time, that takes time
    exponential in how deep minima, quotients and remainders nest.
    """
    return _cached(function, MOST)


def keep(function: F) -> F:
    """The function, with every result kept: equal arguments return the same object."""
    return _cached(function, None)


def at_end(clear: Callable[[], None]) -> None:
    """Has `forgetting` call `clear` at its end, too."""
    _clear.append(clear)


def _cached(function: F, most: int | None) -> F:
    cached = lru_cache(most)(function)
    _clear.append(cached.cache_clear)
    return cached  # type: ignore[return-value]


@contextmanager
def forgetting() -> Iterator[None]:
    """At the end drops all results: what they mention, such as the source of a scalar, holds the weights of a model.
    Also a decorator."""
    try:
        yield
    finally:
        for clear in _clear:
            clear()
