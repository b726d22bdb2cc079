"""From a scheduled kernel to one that WGSL can say."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.nodes import Kernel
from ..ir.simplify import simplify
from ..passes.divide_indices import divide_indices
from ..passes.expand_extremes import expand_extremes
from ..passes.flatten_indices import flatten_indices
from ..passes.group_lanes import LANES, group_lanes
from ..passes.legalise_floats import legalise_floats
from ..passes.saturate_casts import saturate_casts
from ..passes.select_guarded import select_guarded
from ..passes.share_nodes import share_nodes
from ..passes.store_halves import saturate_halves
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops


def group_vectors(kernel: Kernel) -> Kernel:
    """`group_lanes` of buffers that vectors fill."""
    return group_lanes(kernel, lambda b: b.size % LANES == 0)


WGSL_PASSES: tuple[Callable[[Kernel], Kernel], ...] = (
    flatten_indices,
    vectorize_loops,
    unroll_loops,
    share_nodes,
    simplify,
    share_nodes,
    group_vectors,
    divide_indices,
    legalise_floats,
    saturate_halves,
    expand_extremes,
    saturate_casts,
    select_guarded,
)


def lower(kernel: Kernel) -> Kernel:
    """The passes, in order."""
    for run in WGSL_PASSES:
        kernel = run(kernel)
    return kernel
