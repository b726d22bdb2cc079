"""A walk down the tree of decisions: preset ones where they are legal, others as they are picked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..choices import Decision

T = TypeVar("T")
Path = Mapping[str, Any]
"""Decisions by name: a candidate."""

Pick = Callable[[str, Sequence[Any]], Any]
"""One of the options of a decision."""


def first(_: str, options: Sequence[T]) -> T:
    return options[0]


def last(_: str, options: Sequence[T]) -> T:
    """The last option, which the heuristics rank lowest: a search that starts here does without them."""
    return options[-1]


@dataclass(slots=True)
class Walk:
    """`decisions` lists what was decided, in order, but for decisions with a single option. Those of `fixed` names, in
    whatever scope, are the default ones."""

    preset: Path
    pick: Pick
    fixed: frozenset[str] = frozenset()
    decisions: dict[str, Decision] = field(default_factory=dict)

    def choose(self, name: str, options: Sequence[T]) -> T:
        if len(options) == 1 or name.rpartition(".")[2] in self.fixed:
            return options[0]
        preset = self.preset.get(name, _NOTHING)
        legal = [o for o in options if o == preset and type(o) is type(preset)]
        chosen = legal[0] if legal else self.pick(name, options)
        self.decisions[name] = Decision(tuple(options), chosen)
        return chosen

    @property
    def path(self) -> dict[str, Any]:
        return {name: d.chosen for name, d in self.decisions.items()}


_NOTHING = object()
