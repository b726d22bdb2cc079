"""Sequences and optionals, which exist in the importer alone: as lists of values, or where their number is known at run
time only, as rows of one value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import overload

from ...errors import UnsupportedError
from ...graph.ir import Value


class Parts(Sequence[Value]):
    """So many tensors, each of which `make` adds to the graph when it is first read: of thousands of rows a model may
    read one."""

    def __init__(self, count: int, make: Callable[[int], Value]) -> None:
        self._count = count
        self._make = cache(make)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Value: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Value, ...]: ...
    def __getitem__(self, at: int | slice) -> Value | tuple[Value, ...]:
        places = range(self._count)[at]
        return self._make(places) if isinstance(places, int) else tuple(map(self._make, places))


@dataclass(frozen=True, slots=True)
class Listed:
    """A sequence of tensors."""

    items: Sequence[Value]


@dataclass(frozen=True, slots=True)
class Stacked:
    """A sequence of tensors of one shape, which are the rows of a value."""

    rows: Value


@dataclass(frozen=True, slots=True)
class Nothing:
    """An optional without a value; one with a value is that value."""


Item = Value | Listed | Stacked | Nothing
"""The meaning of a name."""

Items = Sequence[Item | None]
"""The items of several names; None for one that is left out, or could not be made."""


def tensors(name: str, items: Items) -> list[Value | None]:
    """The items, of the node `name`. Raises UnsupportedError for a sequence, whose length a region cannot change."""
    values = [v for v in items if v is None or isinstance(v, Value)]
    if len(values) < len(items):
        raise UnsupportedError(f"node {name!r}: a sequence, or an optional, passes through it at run time")
    return values


Lengths = Sequence[int | None]
"""How many tensors each item is: None for an item that is one."""


def spread(name: str, items: Items) -> tuple[list[Value | None], Lengths]:
    """The tensors that items are, of the node `name`, and how many each is. Raises UnsupportedError for an optional
    without a value, and for a sequence of as many tensors as a run decides."""
    spread_items: list[Value | None] = []
    for item in items:
        spread_items += item.items if isinstance(item, Listed) else tensors(name, [item])
    return spread_items, [len(item.items) if isinstance(item, Listed) else None for item in items]


def gathered(values: Sequence[Value | None], lengths: Lengths) -> list[Item | None]:
    """The items of so many tensors."""
    left = iter(values)
    return [next(left) if n is None else Listed([v for v in islice(left, n) if v is not None]) for n in lengths]
