"""Large constants rounded to float16, for bundles that ship halves."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import F32
from ..tensor.halves import LEAST, round_accurately
from .ir import Graph


def round_constants(graph: Graph) -> Graph:
    """Rounds large float32 constants to what float16 can hold, where ACCURACY allows that; they stay float32. Those
    that are computed at load stay what they are computed as."""
    large = {v: a for v, a in graph.constants.items() if v.dtype == F32 and a.size >= LEAST and v not in graph.folded}
    rounded = {v: round_accurately(a) for v, a in large.items()}
    changed = {v: a for v, a in rounded.items() if a is not None}
    return replace(graph, constants={**graph.constants, **changed}) if changed else graph
