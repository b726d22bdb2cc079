"""A session's states in memory of this process."""

from __future__ import annotations

import numpy as np

from ..program.program import TensorSpec
from .aligned_bytes import aligned_bytes

Array = np.ndarray


class StateBytes:
    """`size` bytes at an aligned address, as a run takes them: `StateMemory` of sessions."""

    def __init__(self, size: int) -> None:
        self.bytes = aligned_bytes(size)
        self.clear()

    def clear(self) -> None:
        self.bytes[:] = 0

    def read(self, state: TensorSpec) -> Array:
        return self.bytes[state.offset : state.offset + state.bytes].view(state.dtype.numpy).reshape(state.extents)

    def write(self, state: TensorSpec, whole: Array) -> None:
        self.read(state)[...] = whole
