"""The constants of a model as they lie in the bundle: one file that every target reads."""

from __future__ import annotations

from .ir.layout import Layout
from .tensor import Tensor

ALIGNMENT = 64
"""Bytes: a cache line; also what every GPU API asks of offsets in an upload."""


class Weights:
    """Constants packed one after the other, each (tensor, layout) once."""

    def __init__(self) -> None:
        self._offsets: dict[Tensor, dict[Layout, int]] = {}
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, tensor: Tensor, layout: Layout) -> int:
        """The offset, in bytes, of `tensor` in just this layout."""
        placed = self._offsets.setdefault(tensor, {})
        if layout not in placed:
            assert tensor.data is not None
            placed[layout] = self.append(layout.pack(tensor.data).tobytes())
        return placed[layout]

    def append(self, data: bytes) -> int:
        """The offset, in bytes, at which `data` now lies."""
        at = self._size
        padded = data + bytes(-len(data) % ALIGNMENT)
        self._parts.append(padded)
        self._size += len(padded)
        return at

    def find(self, tensor: Tensor, wanted: Layout) -> tuple[Layout, int]:
        """A layout in which `tensor` is there, and its offset: `wanted` if it is there so or not at all."""
        placed = self._offsets.get(tensor, {})
        if not placed or wanted in placed:
            return wanted, self.add(tensor, wanted)
        return next(iter(placed.items()))

    def blob(self) -> bytes:
        return b"".join(self._parts)
