"""The addresses of stack, weights, arena and states in a module's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.plan_memory import align
from ..program.program import check_wasm32

PAGE = 65536


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Byte addresses of weights, arena and the states of one session, and the size of all in pages of 64 KiB."""

    weights: int
    arena: int
    states: int
    pages: int

    @property
    def bytes(self) -> int:
        """The size of the memory with one thread; each further one takes 64 KiB for its stack."""
        return self.pages * PAGE


def place_memory(
    name: str, heap_base: int, constant_bytes: int, arena_bytes: int, state_bytes: int = 0
) -> MemoryLayout:
    """[stack, static data | weights, prepared | arena | states] of the model `name`, each aligned. `constant_bytes` are
    those of weights and of the tensors prepared from them. InputError above wasm32's 4 GiB."""
    weights = align(heap_base)
    arena = align(weights + constant_bytes)
    states = align(arena + arena_bytes) if state_bytes else arena + arena_bytes
    end = states + state_bytes
    check_wasm32(name, weights, constant_bytes, end - weights - constant_bytes)
    return MemoryLayout(weights, arena, states, -(-end // PAGE))
