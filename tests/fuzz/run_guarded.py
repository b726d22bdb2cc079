"""Runs a native model between guards, twice with other poison: what depends on that lies outside of its memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from fuzz.case import Array
from webnn_compile.execution.native_model import NativeModel
from webnn_compile.program.program import Program

GUARD = 1 << 16
"""Bytes before and behind weights and arena, multiples of their alignment."""
POISONS = (0xFF, 0x42)
"""Bytes: as floats NaN and 48.6."""


class OutOfBounds(Exception):
    """A kernel reads or writes what is not its own."""


def run_guarded(program: Program, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """The results. Raises OutOfBounds."""
    model = NativeModel(program)
    prepared = np.zeros(program.prepared, np.uint8)
    weights = np.concatenate([np.frombuffer(program.weights, np.uint8), prepared])
    results = []
    for poison in POISONS:
        around_weights, inner_weights = _placed(weights, poison)
        around_arena, arena = _placed(np.full(program.arena, poison, np.uint8), poison)
        if program.segments:
            arena[:] = 0
        model.use_memory(inner_weights, arena)
        results.append(model.run(feeds))
        for whole, size, what in (
            (around_weights, len(weights), "weights"),
            (around_arena, program.arena, "the arena"),
        ):
            if (whole[:GUARD] != poison).any() or (whole[-GUARD:] != poison).any():
                raise OutOfBounds(f"a kernel writes outside of {what} (of {size} bytes)")
    first, second = results
    for name, a in first.items():
        if a.tobytes() != second[name].tobytes():
            at = int(np.argmax(a.reshape(-1).view(np.uint8) != second[name].reshape(-1).view(np.uint8)))
            raise OutOfBounds(
                f"{name} depends on memory that is not the model's: element {at // a.itemsize} is "
                f"{a.reshape(-1)[at // a.itemsize]!r} or {second[name].reshape(-1)[at // a.itemsize]!r}"
            )
    return first


def _placed(data: Array, poison: int) -> tuple[Array, Array]:
    """A copy of `data` (uint8) that starts at a multiple of 64, between guards; first all of it."""
    raw = np.full(2 * GUARD + data.size + 64, poison, np.uint8)
    start = -raw.ctypes.data % 64
    whole = raw[start : start + 2 * GUARD + data.size]
    whole[GUARD : GUARD + data.size] = data
    return whole, whole[GUARD : GUARD + data.size]
