"""A compiled model as Python shows it: its target, what a run takes, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .program import TensorSpec

_LISTED = 6
"""So many inputs, and outputs, are shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """`inputs` and `outputs` have by name what each is."""

    backend: str
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]

    def __str__(self) -> str:
        return f"<model on {self.backend}: {_listed(self.inputs)} -> {_listed(self.outputs)}>"


class ShownModel(ABC):
    """A model, or a wrapper or a session of one, that says what it is where it is printed."""

    @abstractmethod
    def shown(self) -> Shown: ...

    def __repr__(self) -> str:
        return str(self.shown())


def arrays_of(specs: Iterable[TensorSpec]) -> dict[str, str]:
    """The arrays of inputs or outputs, by name."""
    return {spec.name: f"{spec.dtype}[{', '.join(map(str, spec.shown))}]" for spec in specs}


def _listed(ports: Mapping[str, str]) -> str:
    texts = [f"{name} {what}" for name, what in ports.items()]
    more = [f"{len(texts) - _LISTED} more"] if len(texts) > _LISTED else []
    return ", ".join(texts[:_LISTED] + more) or "nothing"
