"""Constants as float16, or "halves": the size from which on, and the rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import F32

Array = np.ndarray[Any, np.dtype[Any]]

LEAST = 256
"""Fewest elements of a constant that may become float16. Smaller ones save nothing, and may be an epsilon."""

ACCURACY = 2.0**-10
"""The largest change of a constant by rounding, relative to its largest element. Larger numbers than a float16 holds,
and constants that are among its subnormals, stay float32; so do whole numbers, which may be positions or limits of
them."""


def round_to_half(data: Array) -> Array:
    """float32 `data` rounded to float16, again as float32; overflow becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return data.astype(np.float16).astype(np.float32)


def fits_half(data: Array) -> bool:
    """Whether `data` is float32, large, and representable in float16."""
    if data.dtype != F32.numpy or data.size < LEAST:
        return False
    # Most that do not fit differ early.
    return all(np.array_equal(round_to_half(x), x) for x in (data.reshape(-1)[:LEAST], data))


def round_accurately(data: Array) -> Array | None:
    """`data` rounded; None where that is too coarse, or changes nothing."""
    near = round_to_half(data)
    with np.errstate(invalid="ignore"):
        error, largest = np.abs(near - data).max(), np.abs(data).max()
        whole = np.array_equal(data, np.rint(data))
    return near if 0 < error <= ACCURACY * largest and not whole else None
