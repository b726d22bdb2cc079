"""A selection whose first arm is long and seldom needed."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Select


@dataclass(frozen=True, slots=True)
class Unlikely(Select):
    """`a` where `cond` holds, else `b`. Means what `Select` does; `a` need not be computed where no lane needs it."""
