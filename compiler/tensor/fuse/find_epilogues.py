"""The epilogue of a reduction: the element-wise maps that follow it (bias, activation, residual), each read at the
index that is computed.

A map that joins two reductions belongs to the one over more axes, or else the longer: so a residual block's 1x1
shortcut is a kernel of its own, and the other convolution (or its last step, a transform) is the same kernel as
those of other blocks.

Where launches take longer, maps after a matrix may be of more dimensions, the first of which have one element: models
reshape what they multiply. Processors compute such maps (erf) faster by themselves than in tiles of a product.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from ...ir.affine import affine
from ...ir.nodes import Buffer, Expr, Var
from ...ir.reduction import Reduce
from ...ir.rewrite import loads
from ...ir.sizes import is_one
from ..tensor import Tensor
from .dataflow import Dataflow, count
from .measure import ExprSize

EPILOGUE_LIMIT = 16
"""Most maps between a value and the map that post-dominates its readers; beyond, the search ends."""

MATRIX = 2
"""Dimensions of a reduction that no layout takes for an image, whatever the maps after it have."""


@dataclass(frozen=True, eq=False, slots=True)
class Epilogue:
    """The reduction `anchor`, the maps after it that are inlined, with their measures, and the kernel's `output`: the
    last map, or the anchor itself."""

    anchor: Tensor
    output: Tensor
    inlined: tuple[Tensor, ...]
    measures: Mapping[Buffer, ExprSize]

    @property
    def members(self) -> frozenset[Tensor]:
        return frozenset((self.anchor, *self.inlined, self.output))


def find_epilogues(flow: Dataflow) -> Mapping[Tensor, Epilogue]:
    """The epilogue of every reduction, and of the maps that belong to one."""
    epilogues: dict[Tensor, Epilogue] = {}
    reductions = [t for t in flow.program.tensors if t.is_reduction]
    for anchor in sorted(reductions, key=lambda t: (*_extent(t), flow.order[t]), reverse=True):
        epilogue: Epilogue | None = Epilogue(anchor, anchor, (), {})
        while epilogue is not None:
            longest, epilogue = epilogue, _extend(flow, epilogue, epilogues)
        epilogues.update(dict.fromkeys(longest.members, longest))
    return epilogues


def _extend(flow: Dataflow, epilogue: Epilogue, taken: Container[Tensor]) -> Epilogue | None:
    """The epilogue up to the next map that post-dominates its output (x * sigmoid(x)); None where there is none, or
    where a kernel would exceed its limits. Maps that are `taken` belong to other reductions."""
    if epilogue.output in flow.stored:
        return None
    path = _find_meeting(flow, epilogue.anchor, epilogue.output, taken)
    if path is None:
        return None
    between, meeting = path
    more = between if epilogue.output is epilogue.anchor else (*between, epilogue.output)
    measures = dict(epilogue.measures)
    for t in more:
        measures[t.buffer] = flow.trees[t].with_inlined(measures)
    longer = Epilogue(epilogue.anchor, meeting, (*epilogue.inlined, *more), measures)
    if flow.trees[meeting].with_inlined(measures).is_too_large or flow.has_too_many_reads(longer.members, measures):
        return None
    return longer


def _find_meeting(
    flow: Dataflow, anchor: Tensor, start: Tensor, taken: Container[Tensor]
) -> tuple[tuple[Tensor, ...], Tensor] | None:
    """The maps on every path from `start`, which follows `anchor`, that read it and each other at no element but the
    one they compute, and the map that all paths lead to; None where there is no such map."""
    between: list[Tensor] = []
    open_ = set(flow.readers.get(start, ()))
    while open_:
        t = min(open_, key=flow.order.__getitem__)
        inside = [r for r in t.reads if r is start or r in between]
        same_shape = t.shape == start.shape or (flow.few_launches and _has_elements_of(t, anchor))
        fits = not t.is_reduction and same_shape and t not in taken
        if not fits or not all(_reads_identity(t, r, anchor.rank) for r in inside):
            break
        open_.remove(t)
        if not open_:
            return tuple(between), t
        if t in flow.stored or len(between) == EPILOGUE_LIMIT:
            break
        between.append(t)
        open_.update(flow.readers.get(t, ()))
    return None


def _has_elements_of(t: Tensor, anchor: Tensor) -> bool:
    """Whether `t` is of the shape of the matrix `anchor`, perhaps with dimensions of one element before."""
    before = t.rank - MATRIX
    return anchor.rank == MATRIX and t.shape[before:] == anchor.shape and all(map(is_one, t.shape[:before]))


def _reads_identity(user: Tensor, t: Tensor, rank: int) -> bool:
    """Whether `user` reads `t` only at the element that it computes; before the last `rank` dimensions there is but
    one."""
    assert user.body is not None
    reads = [x for x in loads(user.body) if x.buffer is t.buffer]
    axes = user.axes[user.rank - rank :]
    return all(x.guard is None and _is_identity(x.indices[t.rank - rank :], axes) for x in reads)


def _is_identity(indices: tuple[Expr, ...], axes: tuple[Var, ...]) -> bool:
    return len(indices) == len(axes) and all(affine(i) == affine(a) for i, a in zip(indices, axes, strict=True))


def _extent(t: Tensor) -> tuple[int, int]:
    """The number of axes, and of elements, of a reduction."""
    assert isinstance(t.body, Reduce)
    axes = t.body.axes
    return sum(a.extent > 1 for a in axes), count(axes) if axes else 0
