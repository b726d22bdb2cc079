"""The strided copy of a constant at upload."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..program.device_program import CopyDimension

Array = np.ndarray


def arrange(source: Array, dimensions: Sequence[CopyDimension], limits: Sequence[int]) -> Array:
    """The elements of `source`, flat, in the order of `dimensions`; zero at or beyond the limit of an axis."""
    shape = tuple(d.extent for d in dimensions)
    offset = np.zeros(shape, np.int64)
    positions: dict[int, Array] = {}
    for k, d in enumerate(dimensions):
        index = np.arange(d.extent, dtype=np.int64).reshape((-1,) + (1,) * (len(dimensions) - 1 - k))
        offset += index * d.stride
        if d.axis >= 0:
            positions[d.axis] = positions.get(d.axis, 0) + index * d.weight
    inside = np.ones(shape, bool)
    for axis, position in positions.items():
        inside &= position < limits[axis]
    return np.where(inside, source[np.where(inside, offset, 0)], source.dtype.type(0)).reshape(-1)
