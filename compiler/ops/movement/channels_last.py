"""Operators of images whose channels come last, by those whose channels come before spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...tensor import Tensor
from ..call import Call
from .rearranging import transposed


def to_first(rank: int) -> tuple[int, ...]:
    """The permutation of (N, spatial, C) to (N, C, spatial)."""
    return (0, rank - 1, *range(1, rank - 1))


def to_last(rank: int) -> tuple[int, ...]:
    """The permutation of (N, C, spatial) to (N, spatial, C)."""
    return (0, *range(2, rank), 1)


def channels_last(operator: Callable[[Call], Tensor], images: Sequence[int] = (0,)) -> Callable[[Call], Tensor]:
    """`operator` of images that are (N, spatial, C): its inputs `images`, of which the first is required, and its
    result. Weights are as elsewhere."""

    def of_last(call: Call) -> Tensor:
        rank = call.image(images[0]).rank
        inputs = list(call.inputs)
        for index in images:
            t = call.optional(index, (None,) * rank)
            if t is not None:
                inputs[index] = transposed(f"{call.name}.input_{index}", t, to_first(rank))
        return transposed(f"{call.name}.last", operator(replace(call, inputs=tuple(inputs))), to_last(rank))

    return of_last


def channels_by_flag(operator: Callable[[Call], Tensor]) -> Callable[[Call], Tensor]:
    """`operator` of images that are (N, spatial, C) where the attribute channels_last is 1."""
    of_last = channels_last(operator)
    return lambda call: of_last(call) if call.flag("channels_last", 0) else operator(call)
