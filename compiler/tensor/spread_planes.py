"""Layouts of tensors that are written in many planes at once, so that the planes do not meet in the same cache sets."""

from __future__ import annotations

from math import prod

from ..costs import CpuCosts
from ..dtypes import DType
from ..ir.layout import Layout

STEP = 16
"""Bytes by which rows grow: whole vectors."""


def spread_planes(shape: tuple[int, ...], dtype: DType, costs: CpuCosts) -> Layout:
    """Row-major planes (the first two dimensions count them), rows a little longer than they are where planes would
    otherwise lie a large power of two apart."""
    rows, columns = prod(shape[2:-1]), shape[-1]
    step = STEP // dtype.bytes
    longer = range(columns, columns + 16 * step, step)
    width = next((n for n in longer if not costs.conflicts(rows * n * dtype.bytes)), columns)
    plain = Layout.row_major(shape)
    return Layout(plain.shape, plain.order, plain.pad, (*plain.align[:-1], width))
