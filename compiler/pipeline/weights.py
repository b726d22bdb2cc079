"""The constants of a model in the bundle: one file that every target reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256

import numpy as np

from ..dtypes import F16, DType
from ..ir.layout import Layout
from ..program.plan_memory import ALIGNMENT
from ..tensor import Tensor
from ..tensor.halves import fits_half

Array = np.ndarray


class Weights:
    """Constants packed sequentially, equal bytes once: layouts may differ and mean the same, as one of a matrix that is
    both an embedding and the last product's operand.

    Float32 constants representable in float16 ship as float16, in half the bytes; targets that compute in float32 widen
    them at load: memory then holds the same parts in the same order, the halves at twice their size.
    """

    def __init__(self) -> None:
        self._offsets: dict[Tensor, dict[Layout, int]] = {}
        self._halved: dict[Tensor, bool] = {}
        self._parts: list[tuple[Array, bool]] = []
        self._by_content: dict[tuple[bytes, bool], int] = {}
        self._in_memory: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._size = self._memory_size = 0
        self._types, self._types_in_memory = Counter[str](), Counter[str]()

    def add(self, tensor: Tensor, layout: Layout) -> int:
        """The offset, in bytes of the file, of `tensor` in this layout."""
        placed = self._offsets.setdefault(tensor, {})
        if layout not in placed:
            assert tensor.data is not None
            halve = self.dtype(tensor) != tensor.dtype
            size, in_memory = self._size, self._memory_size
            placed[layout] = self._append(layout.pack(tensor.data), halve=halve)
            self._types[tensor.packs or self.dtype(tensor).name] += self._size - size
            self._types_in_memory[tensor.packs or tensor.dtype.name] += self._memory_size - in_memory
        return placed[layout]

    def append(self, data: bytes, types: Mapping[str, int]) -> int:
        """Appends `data`, so many bytes of these types; returns its offset in bytes of the file."""
        size = self._size
        at = self._append(np.frombuffer(data, np.uint8), halve=False)
        if self._size > size:
            self._types.update(types)
            self._types_in_memory.update(types)
        return at

    def _append(self, data: Array, *, halve: bool) -> int:
        raw = np.frombuffer((data.astype(np.float16) if halve else data).tobytes(), np.uint8)
        at = self._by_content.setdefault((sha256(raw.data).digest(), halve), self._size)
        if at < self._size:
            return at
        self._in_memory[at] = self._memory_size
        padded = np.concatenate([raw, np.zeros(-raw.size % ALIGNMENT, np.uint8)])
        self._parts.append((padded, halve))
        self._size += padded.size
        self._memory_size += padded.size * (2 if halve else 1)
        self._ends[self._in_memory[at]] = self._memory_size
        return at

    def dtype(self, tensor: Tensor) -> DType:
        """The type of a constant's elements in the file."""
        if tensor not in self._halved:
            self._halved[tensor] = tensor.data is not None and fits_half(tensor.data)
        return F16 if self._halved[tensor] else tensor.dtype

    def find(self, tensor: Tensor, layout: Layout) -> tuple[Layout, int]:
        """A layout in which `tensor` is in the file, and its offset: `layout` if it is there in that or in none."""
        placed = self._offsets.get(tensor, {})
        if not placed or layout in placed:
            return layout, self.add(tensor, layout)
        return next(iter(placed.items()))

    @property
    def memory_bytes(self) -> int:
        """The size in memory, with float16 parts widened."""
        return self._memory_size

    def in_memory(self, offset: int) -> int:
        """The offset in memory of the part at `offset` of the file."""
        return self._in_memory[offset]

    def end_in_memory(self, start: int) -> int:
        """The end of the part that begins at `start` in memory, both in bytes."""
        return self._ends[start]

    @property
    def halves(self) -> tuple[tuple[int, int], ...]:
        """Offset and size in bytes of the file's float16 parts, neighbours merged."""
        runs: list[tuple[int, int]] = []
        at = 0
        for part, half in self._parts:
            if half and runs and sum(runs[-1]) == at:
                runs[-1] = (runs[-1][0], runs[-1][1] + part.size)
            elif half:
                runs.append((at, part.size))
            at += part.size
        return tuple(runs)

    @property
    def types(self) -> dict[str, int]:
        """The bytes of the file by type of the elements, the most first."""
        return {name: size for name, size in self._types.most_common() if size}

    @property
    def types_in_memory(self) -> dict[str, int]:
        """The bytes of memory, likewise."""
        return {name: size for name, size in self._types_in_memory.most_common() if size}

    @property
    def starts(self) -> tuple[int, ...]:
        """Where the file's constants begin, in order."""
        return tuple(self._by_content.values())

    def blob(self) -> bytes:
        """The file."""
        return b"".join(part.tobytes() for part, _ in self._parts)

    def memory(self) -> bytes:
        """The contents of memory: halves widened."""
        return b"".join(widen(part).tobytes() if half else part.tobytes() for part, half in self._parts)


def widen(part: Array) -> Array:
    """float16 (as bytes) to float32."""
    return part.view(np.float16).astype(np.float32)
