"""Large constants rounded to float16, for bundles that ship halves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..dtypes import F32
from ..tensor.halves import LEAST, round_to_half
from .ir import Array, Graph

ACCURACY = 2.0**-10
"""The largest change of a constant by rounding, relative to its largest element. Larger numbers than a float16 holds,
and constants that are among its subnormals, stay float32; so do whole numbers, which may be positions or limits of
them."""


def round_constants(graph: Graph) -> Graph:
    """Rounds large float32 constants to what float16 can hold, where ACCURACY allows that; they stay float32."""
    rounded = {v: _accurate(a) for v, a in graph.constants.items() if v.dtype == F32 and a.size >= LEAST}
    changed = {v: a for v, a in rounded.items() if a is not None}
    return replace(graph, constants={**graph.constants, **changed}) if changed else graph


def _accurate(data: Array) -> Array | None:
    """`data` rounded; None where that is too coarse, or changes nothing."""
    near = round_to_half(data)
    with np.errstate(invalid="ignore"):
        error, largest = np.abs(near - data).max(), np.abs(data).max()
        whole = np.array_equal(data, np.rint(data))
    return near if 0 < error <= ACCURACY * largest and not whole else None
