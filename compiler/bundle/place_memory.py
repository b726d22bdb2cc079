"""Where stack, weights and arena lie in the module's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InputError
from .artifact import WasmArtifact

PAGE = 65536
MAX_PAGES = 65536
ALIGN = 64


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """Byte addresses of weights and arena, and the size of all in pages of 64 KiB."""

    weights: int
    arena: int
    pages: int


def place_memory(artifact: WasmArtifact) -> MemoryLayout:
    """[stack, static data | weights | arena], each 64-byte aligned. InputError above wasm32's 4 GiB."""
    weights = _align(artifact.heap_base)
    arena = _align(weights + len(artifact.weights))
    end = arena + artifact.arena_bytes
    pages = max(1, -(-end // PAGE))
    if pages > MAX_PAGES:
        raise InputError(
            f"model {artifact.name!r} needs {_gib(end)} of memory (weights {_gib(len(artifact.weights))}, "
            f"intermediate results {_gib(artifact.arena_bytes)}), but wasm32 has 4 GiB: "
            "use a smaller input shape (--shape) or a smaller model"
        )
    return MemoryLayout(weights, arena, pages)


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB"


def _align(offset: int) -> int:
    return -(-offset // ALIGN) * ALIGN
