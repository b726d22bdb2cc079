"""Which tensors share a kernel. A kernel computes one tensor, and has at most one reduction.

Three steps, each from frozen data to frozen data: the epilogues of reductions (`find_epilogues`), the maps that are
computed where they are read (`inline_maps`), and the groups, one per kernel (`build_groups`).
"""

from __future__ import annotations

from ..program import TensorProgram
from .build_groups import Group, build_groups, copy_of
from .dataflow import find_dataflow
from .find_epilogues import find_epilogues
from .inline_maps import inline_maps

__all__ = ["Group", "copy_of", "fuse"]


def fuse(
    program: TensorProgram, most_reads: int | None = None, *, few_launches: bool = False, repeats: int = 0
) -> tuple[Group, ...]:
    """The groups in an order of execution. None reads more than `most_reads` tensors if no tensor does. With
    `few_launches` single elements are computed again by each reader, and elements of so many nodes as `repeats` by each
    of two."""
    flow = find_dataflow(program, most_reads, few_launches=few_launches, repeats=repeats)
    epilogues = find_epilogues(flow)
    return build_groups(flow, epilogues, inline_maps(flow, epilogues))
