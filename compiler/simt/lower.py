"""From a scheduled kernel to one that languages of compute kernels can express."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.nodes import Kernel
from ..ir.simplify import simplify
from ..passes.branch_unlikely import branch_unlikely
from ..passes.divide_indices import divide_indices
from ..passes.expand_dots import expand_dots
from ..passes.expand_extremes import expand_extremes
from ..passes.flatten_indices import flatten_indices
from ..passes.group_lanes import group_lanes
from ..passes.keep_nans import clear_negatives, keep_nans
from ..passes.legalise_floats import legalise_floats
from ..passes.pack_words import pack_words, pack_words_by_masks
from ..passes.reduce_by_subgroups import reduce_by_subgroups
from ..passes.reduce_by_tree import reduce_by_tree
from ..passes.round_clamped import round_clamped
from ..passes.saturate_casts import saturate_casts
from ..passes.scale_quotients import scale_quotients
from ..passes.select_guarded import select_guarded
from ..passes.share_nodes import share_nodes
from ..passes.store_narrow import saturate_halves
from ..passes.unroll_loops import unroll_loops
from ..passes.vectorize_loops import vectorize_loops
from ..passes.whole_quotients import whole_quotients
from ..system.run_passes import Observer, ignore, run_passes
from ..target import LANES


def group_vectors(kernel: Kernel) -> Kernel:
    """`group_lanes` for buffers of whole vectors."""
    return group_lanes(kernel, lambda b: b.size % LANES == 0)


Pass = Callable[[Kernel], Kernel]

VECTOR_PASSES: tuple[Pass, ...] = (flatten_indices, vectorize_loops, unroll_loops)
"""The passes before the reductions of a workgroup, by a tree or by subgroups."""

_OTHERS: tuple[Pass, ...] = (
    pack_words,
    expand_dots,
    share_nodes,
    simplify,
    share_nodes,
    group_vectors,
    divide_indices,
    whole_quotients,
    round_clamped,
    legalise_floats,
    saturate_halves,
    expand_extremes,
    saturate_casts,
    select_guarded,
    branch_unlikely,
)


TREE_PASSES: tuple[Pass, ...] = (*VECTOR_PASSES, reduce_by_tree, *_OTHERS)
"""From a scheduled kernel to one that every device can run."""

SUBGROUP_PASSES: tuple[Pass, ...] = (*VECTOR_PASSES, reduce_by_subgroups, *_OTHERS)
"""Passes for a device that has subgroups."""


def for_shaders(passes: tuple[Pass, ...]) -> tuple[Pass, ...]:
    """`passes` for a language whose compilers assume that there is no NaN, divide by reciprocals, and may shift the
    lanes of a vector one by one (SwiftShader's)."""
    before: dict[Pass, tuple[Pass, ...]] = {
        legalise_floats: (scale_quotients,),
        expand_extremes: (clear_negatives, keep_nans),
    }
    passes = tuple(pack_words_by_masks if p is pack_words else p for p in passes)
    return tuple(q for p in passes for q in (*before.get(p, ()), p))


def lower(kernel: Kernel, passes: tuple[Pass, ...] = TREE_PASSES, observe: Observer = ignore) -> Kernel:
    """The passes, in order."""
    return run_passes(kernel, passes, observe)
