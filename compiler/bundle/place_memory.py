"""The addresses of stack, weights and arena in a module's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.plan_memory import align
from ..program.program import check_wasm32

PAGE = 65536


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Byte addresses of weights and arena, and the size of all in pages of 64 KiB."""

    weights: int
    arena: int
    pages: int

    @property
    def bytes(self) -> int:
        """The size of the memory with one thread; each further one takes 64 KiB for its stack."""
        return self.pages * PAGE


def place_memory(name: str, heap_base: int, constant_bytes: int, arena_bytes: int) -> MemoryLayout:
    """[stack, static data | weights, prepared | arena] of the model `name`, each aligned. `constant_bytes` are those of
    weights and of the tensors prepared from them. InputError above wasm32's 4 GiB."""
    weights = align(heap_base)
    arena = align(weights + constant_bytes)
    end = arena + arena_bytes
    check_wasm32(name, weights, constant_bytes, end - weights - constant_bytes)
    return MemoryLayout(weights, arena, -(-end // PAGE))
