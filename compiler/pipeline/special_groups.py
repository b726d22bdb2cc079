"""Groups that run for fast sizes alone."""

from __future__ import annotations

from collections.abc import Iterator

from ..tensor import Tensor
from ..tensor.steps import BranchStep, leaves
from .lowered import Lowered


def special_groups(model: Lowered) -> frozenset[int]:
    """Their numbers."""
    return frozenset(_numbers(model))


def _numbers(model: Lowered) -> Iterator[int]:
    for step in model.steps:
        if isinstance(step, BranchStep) and not isinstance(step.condition, Tensor):
            yield from leaves(step.otherwise)
