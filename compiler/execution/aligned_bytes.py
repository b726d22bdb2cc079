"""Memory for a model's weights and arena."""

from __future__ import annotations

import numpy as np

from ..program.plan_memory import ALIGNMENT

Array = np.ndarray


def aligned_bytes(size: int) -> Array:
    """Zeroed bytes at an aligned address."""
    raw = np.zeros(size + ALIGNMENT, np.uint8)
    start = -int(raw.ctypes.data) % ALIGNMENT
    return raw[start : start + size]
