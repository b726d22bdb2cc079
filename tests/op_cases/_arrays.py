"""The arrays that rows are made of: seeded random ones, and the values that are easy to get wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

SPECIAL = np.asarray([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 1e-30, 3e38], np.float32)
"""The edges of float32."""

NAN, INF = np.nan, np.inf

LINES = np.asarray(
    [
        *([NAN, 1, 2, 5], [1, NAN, 5, 2], [5, 2, 1, NAN], [5, NAN, NAN, 1], [NAN] * 4, [-INF] * 4, [INF] * 4),
        *([-INF, NAN, INF, 0], [-INF, INF, -INF, 0], [-0.0, 0, -0.0, 0], [3, 1, 2, 3]),
    ],
    np.float32,
)
"""Lines of four with NaN at every place, and infinities alone and among numbers."""

WIDE = np.asarray([-1000, -100, -88, -20, -5, -1, -1e-3, 0, 1e-3, 1, 5, 20, 88, 100, 1000], np.float32)
"""Arguments for which careless formulas overflow or cancel."""


def scalar(value: float, dtype: str = "float32") -> Array:
    """An array of rank 0."""
    return np.asarray(value, dtype)


def ints(*values: int) -> Array:
    """A row of int64: a shape, axes, pads."""
    return np.asarray(values, np.int64)


class Arrays:
    """A seeded source of arrays; `shape` comes last, extent by extent."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def normal(self, *shape: int) -> Array:
        """float32, mean 0, deviation 1."""
        return np.asarray(self._rng.standard_normal(shape), np.float32)

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        """float32 in [low, high)."""
        return np.asarray(self._rng.uniform(low, high, shape), np.float32)

    def integers(self, low: int, high: int, *shape: int, dtype: str = "int64") -> Array:
        """Integers in [low, high)."""
        return np.asarray(self._rng.integers(low, high, shape), dtype)

    def bools(self, *shape: int) -> Array:
        return np.asarray(self._rng.integers(0, 2, shape), bool)
