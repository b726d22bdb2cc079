"""The choices of layers, and the list of decisions: they are made per tensor, before kernels exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..choices import DEFAULT, Choices, Decision, Scope
from .tensor import Tensor

T = TypeVar("T")
LayerChoices = Callable[[Tensor], Choices]
"""The choices of a tensor that a decision is about: a function of it alone."""


def default_layers(_: Tensor) -> Choices:
    return DEFAULT


def by_name(choices: Choices) -> LayerChoices:
    """Decisions of all layers from one object, each in the scope of its tensor's name."""
    return lambda t: Scope(choices, t.name)


@dataclass(frozen=True, slots=True)
class LayerDecision:
    """A decision about a tensor, by its name."""

    tensor: Tensor
    name: str
    decision: Decision


class DecisionList:
    """The `choices` of a lowering, of which it lists the decisions."""

    def __init__(self, choices: LayerChoices) -> None:
        self._choices = choices
        self.decisions: list[LayerDecision] = []

    def __call__(self, t: Tensor) -> Choices:
        return _Listed(self.decisions, t, self._choices(t))


@dataclass(frozen=True, slots=True)
class _Listed:
    """The `choices` of a tensor."""

    decisions: list[LayerDecision]
    tensor: Tensor
    choices: Choices

    def choose(self, name: str, options: Sequence[T]) -> T:
        chosen = self.choices.choose(name, options)
        self.decisions.append(LayerDecision(self.tensor, name, Decision(tuple(options), chosen)))
        return chosen
