"""Constants as float16, or "halves": the size from which on, and the rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LEAST = 256
"""Fewest elements of a constant that may become float16. Smaller ones save nothing, and may be an epsilon."""


def round_to_half(data: Array) -> Array:
    """float32 `data` rounded to float16, again as float32; overflow becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return data.astype(np.float16).astype(np.float32)
