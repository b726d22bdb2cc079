"""From a scheduled kernel to one that can be printed as C."""

from __future__ import annotations

from ..ir.simplify import simplify
from ..passes.branch_unlikely import branch_unlikely
from ..passes.clamp_conversions import clamp_conversions
from ..passes.expand_dots import expand_dots
from ..passes.flatten_indices import flatten_indices
from ..passes.lower_float16 import lower_float16
from ..passes.lower_math import lower_math
from ..passes.select_guarded import select_guarded
from ..passes.share_nodes import share_nodes
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops

PASSES = (
    flatten_indices,
    vectorize_loops,
    unroll_loops,
    simplify,
    clamp_conversions,
    expand_dots,
    lower_math,
    lower_float16,
    select_guarded,
    branch_unlikely,
    share_nodes,
)
"""In order. Tiles stay in their loops: a C compiler optimises across the whole kernel."""
