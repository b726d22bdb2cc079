"""The choices of layers: decisions that are made per tensor, before kernels exist."""

from __future__ import annotations

from collections.abc import Callable

from ..choices import DEFAULT, Choices, Scope
from .tensor import Tensor

LayerChoices = Callable[[Tensor], Choices]
"""The choices of each tensor that a decision is about."""


def default_layers(_: Tensor) -> Choices:
    return DEFAULT


def by_name(choices: Choices) -> LayerChoices:
    """Decisions of all layers from one object, each in the scope of its tensor's name."""
    return lambda t: Scope(choices, t.name)
