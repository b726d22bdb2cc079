"""Collects what a model needs that is not supported, so that one message names all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import UnsupportedError

_SHOWN = 3
"""So many names are shown of each kind."""


class Unsupported:
    """The list for the model of a name, whose parts are called `noun` ("layer"); `advice` ends the message."""

    def __init__(self, model: str, noun: str, advice: str) -> None:
        self._model, self._noun, self._advice = model, noun, advice
        self._lines: dict[str, None] = {}

    def add_kinds(self, kinds: Mapping[str, Sequence[str]]) -> None:
        """The names of parts by their kind, the most frequent first in the message."""
        for kind, names in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
            self.add(f"{kind}: {named(names, self._noun)}")

    def add(self, line: str) -> None:
        self._lines[line] = None

    def check(self) -> None:
        """Raises UnsupportedError where there is any."""
        if self._lines:
            listed = "".join(f"\n  {line}" for line in self._lines)
            raise UnsupportedError(
                f"{self._model} needs what is not supported, {len(self._lines)} in all:{listed}\n{self._advice}"
            )


def named(names: Sequence[str], noun: str) -> str:
    """A count and the first names: "5 layers 'a', 'b', 'c', ..."."""
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    return f"{len(names)} {noun}{'s' if len(names) != 1 else ''} {shown}"
