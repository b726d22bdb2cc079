"""Large constants rounded to float16, for bundles that ship halves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import F32
from .ir import Array, Graph

FEW = 256
"""Elements of a constant that stays as it is: it weighs nothing, and may be an epsilon."""

ACCURACY = 2.0**-10
"""Of its largest element: what rounding may change a constant by. Larger numbers than a float16 holds, and constants
that lie among its subnormals, stay float32; so do whole numbers, which may be positions or limits of them."""


def round_constants(graph: Graph) -> Graph:
    """With float32 constants whose elements are float16s, still as float32."""
    rounded = {v: _rounded(a) for v, a in graph.constants.items() if v.dtype == F32 and a.size >= FEW}
    changed = {v: a for v, a in rounded.items() if a is not None}
    return replace(graph, constants={**graph.constants, **changed}) if changed else graph


def _rounded(data: Array) -> Array | None:
    """None where the rounding is too coarse, or changes nothing."""
    with np.errstate(over="ignore", under="ignore"):
        near = data.astype(np.float16).astype(np.float32)
    with np.errstate(invalid="ignore"):
        error, largest = np.abs(near - data).max(), np.abs(data).max()
        whole = np.array_equal(data, np.rint(data))
    return near if 0 < error <= ACCURACY * largest and not whole else None
