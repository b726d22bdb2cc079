"""The name that a mistyped one is likely to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name, with the one of `names` that is most like it; empty where none is."""
    nearest = get_close_matches(name, list(names), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else ""
