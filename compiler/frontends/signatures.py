"""The choice among the signatures of a model: the functions that it has for its callers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from ..errors import InputError

T = TypeVar("T")


def chosen_signature(signatures: Mapping[str, T], name: str, model: str) -> T | None:
    """The signature of this name; None for no name. Raises InputError, which lists them, where the model lacks it."""
    if not name:
        return None
    if name not in signatures:
        listed = f"it has {', '.join(map(repr, signatures))}" if signatures else "it has none"
        advice = "give one of these as the signature" if signatures else "leave the signature out"
        raise InputError(f"{model} has no signature {name!r}: {listed}; {advice}")
    return signatures[name]


def signatures_by_use(names: Sequence[str], taken: str) -> tuple[str, ...]:
    """The names, that of the signature that is taken first."""
    return (taken, *(name for name in names if name != taken))
