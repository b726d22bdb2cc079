"""Padding for tensors of many matrices written at once, so that equal positions do not map to the same cache sets."""

from __future__ import annotations

from math import prod

from ..costs import CpuCosts
from ..dtypes import DType
from ..ir.layout import Layout

STEP = 16
"""Bytes by which rows grow: whole vectors."""


def pad_matrices(shape: tuple[int, ...], dtype: DType, costs: CpuCosts) -> Layout:
    """Row-major matrices (the first two dimensions count them), rows padded where the distance of matrices would be a
    large power of two."""
    rows, columns = prod(shape[2:-1]), shape[-1]
    step = STEP // dtype.bytes
    longer = range(columns, columns + 16 * step, step)
    width = next((n for n in longer if not costs.conflicts(rows * n * dtype.bytes)), columns)
    plain = Layout.row_major(shape)
    return Layout(plain.shape, plain.order, plain.pad, (*plain.align[:-1], width))
