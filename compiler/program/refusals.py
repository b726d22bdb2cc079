"""Refused runs: they take a branch that does not fit the sizes that the model is compiled for, or compute operands that
are invalid."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..errors import InputError
from ..ir.nodes import Scalar


@dataclass(frozen=True, slots=True)
class Refusal:
    """A run that does it leaves 1 in `scalar`, and ends with an error of this `text`; others leave 0."""

    scalar: Scalar
    text: str


def check_refusals(refusals: Iterable[Refusal], value: Callable[[Scalar], int]) -> None:
    """Raises InputError where a run has done one of these; `value` is that of a scalar after the run."""
    for refusal in refusals:
        if value(refusal.scalar):
            raise InputError(refusal.text)
