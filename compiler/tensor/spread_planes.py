"""Layouts of tensors that are written in many planes at once, so that the planes do not meet in the same cache sets."""

from __future__ import annotations

from math import gcd, prod

from ..dtypes import DType
from ..ir.layout import Layout

SETS = 4096
"""Bytes after which addresses share a set of a first-level cache again (64 sets of 64 bytes)."""
NEAREST = 512
"""Least distance of planes, modulo SETS, at which no set gets more lines than a cache of eight ways holds."""
STEP = 16
"""Bytes by which rows grow: whole vectors."""


def spread_planes(shape: tuple[int, ...], dtype: DType) -> Layout:
    """Row-major planes (the first two dimensions count them), rows a little longer than they are where planes would
    otherwise lie a large power of two apart."""
    rows, columns = prod(shape[2:-1]), shape[-1]
    step = STEP // dtype.bytes
    longer = range(columns, columns + 16 * step, step)
    width = next((n for n in longer if gcd(rows * n * dtype.bytes, SETS) <= NEAREST), columns)
    plain = Layout.row_major(shape)
    return Layout(plain.shape, plain.order, plain.pad, (*plain.align[:-1], width))
