"""Sparse constants of TFLite as dense ones.

Levels of dimensions, outermost first, are dense, or segments and indices of the places that are there (Chou, Kjolstad
and Amarasinghe: Format Abstraction for Sparse Tensor Algebra Compilers, OOPSLA 2018; `SparsityParameters`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import tflite

_SPARSE = 1


def expand_sparse(sparsity: Any, raw: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray:
    """The elements of `shape`, zero where the file has none. Raises what reading outside the file raises, and
    ValueError for levels that do not fit the shape."""
    values = raw.view(dtype)
    order = [int(d) for d in sparsity.TraversalOrderAsNumpy()]
    blocks = [int(d) for d in sparsity.BlockMapAsNumpy()] if sparsity.BlockMapLength() else []
    levels = [sparsity.DimMetadata(i) for i in range(sparsity.DimMetadataLength())]
    if sorted(order) != list(range(len(levels))) or len(levels) != len(shape) + len(blocks):
        raise ValueError(f"{len(levels)} levels of sparsity")
    sizes = [0] * len(levels)
    places = [np.zeros(1, np.int64)]
    positions = np.zeros(1, np.int64)
    most = max(prod(shape), 1)
    for dimension, level in zip(order, levels, strict=True):
        if level.Format() == _SPARSE:
            segments, indices = _numbers(level, "Segments"), _numbers(level, "Indices")
            starts, counts = segments[positions], segments[positions + 1] - segments[positions]
            if counts.min(initial=0) < 0 or counts.sum() > most:
                raise ValueError("segments of a sparse level that do not fit the shape")
            parent = np.repeat(np.arange(len(positions)), counts)
            first = np.repeat(np.cumsum(counts) - counts, counts)
            positions = np.repeat(starts, counts) + np.arange(len(parent)) - first
            own = indices[positions]
        else:
            size = level.DenseSize()
            if size < 0 or size * max(len(positions), 1) > most:
                raise ValueError(f"a dense level of {size}")
            parent = np.repeat(np.arange(len(positions)), size)
            own = np.tile(np.arange(size), len(positions))
            positions = positions[parent] * size + own
        places = [p[parent] for p in places] + [own]
        sizes[dimension] = int(level.DenseSize())
    at: dict[int, np.ndarray] = dict(zip(order, places[1:], strict=True))
    for i, d in enumerate(blocks):
        size = sizes[len(shape) + i]
        at[d] = at[d] * size + at[len(shape) + i]
    dense = np.zeros(tuple(shape), dtype)
    dense[tuple(at[d] for d in range(len(shape)))] = values[positions]
    return dense


def _numbers(level: Any, what: str) -> np.ndarray:
    """The segments or the indices of a level, which are vectors of int32, uint16 or uint8."""
    table, kind = getattr(level, f"Array{what}")(), getattr(level, f"Array{what}Type")()
    vectors: dict[int, Any] = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}
    vector = vectors[kind]()
    vector.Init(table.Bytes, table.Pos)
    return np.array(vector.ValuesAsNumpy(), np.int64)
