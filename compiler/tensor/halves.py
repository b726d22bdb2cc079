"""Constants as float16, or "halves": which are large enough, and what becomes of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LEAST = 256
"""Elements from which on a constant may become float16. Smaller ones weigh nothing, and may be an epsilon."""


def round_to_half(data: Array) -> Array:
    """float32 `data` rounded to float16, again as float32; what is too large becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return data.astype(np.float16).astype(np.float32)
