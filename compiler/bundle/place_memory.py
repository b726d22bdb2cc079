"""Where stack, weights and arena lie in the module's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..program import check_wasm32
from .artifact import WasmArtifact

PAGE = 65536
ALIGN = 64


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Byte addresses of weights and arena, and the size of all in pages of 64 KiB."""

    weights: int
    arena: int
    pages: int


def place_memory(artifact: WasmArtifact) -> MemoryLayout:
    """[stack, static data | weights, prepared | arena], each 64-byte aligned. InputError above wasm32's 4 GiB."""
    weights = _align(artifact.heap_base)
    constant = len(artifact.weights) + artifact.prepared_bytes
    arena = _align(weights + constant)
    end = arena + artifact.arena_bytes
    check_wasm32(artifact.name, weights, constant, end - weights - constant)
    pages = max(1, -(-end // PAGE))
    return MemoryLayout(weights, arena, pages)


def _align(offset: int) -> int:
    return -(-offset // ALIGN) * ALIGN
