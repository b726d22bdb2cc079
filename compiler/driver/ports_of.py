"""The ports of a model that was lowered for a processor."""

from __future__ import annotations

from dataclasses import dataclass

from ..pipeline.lowered import Lowered
from ..program.program import TensorSpec, kept_spec
from ..tensor import Tensor


@dataclass(frozen=True, slots=True)
class Ports:
    """Arrays that a run takes, and gives, and finds as the one before has left them."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    states: tuple[TensorSpec, ...]


def ports_of(lowered: Lowered) -> Ports:
    """The ports of a model, with their places on a processor."""
    tensors, offset = lowered.tensors, lowered.stored.offset
    kept = dict(tensors.state_tensors)

    def spec(name: str, t: Tensor) -> TensorSpec:
        return TensorSpec(name, t.dtype, t.shape, offset[t])

    return Ports(
        tuple(spec(name, t) for name, t in tensors.inputs if t not in kept),
        tuple(spec(name, t) for name, t in tensors.outputs if t not in kept.values()),
        tuple(kept_spec(spec(name, t), t.extents, tensors.state(name)) for name, t in tensors.inputs if t in kept),
    )
