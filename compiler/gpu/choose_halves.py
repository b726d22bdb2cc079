"""Which values of a model are stored as float16 in a device's memory: by `--precision f16`, or where that is exact."""

from __future__ import annotations

from collections.abc import Iterator, Set
from math import prod

from ..dtypes import F32
from ..pipeline.lowered import Lowered
from ..program.live_ranges import owner_of
from ..tensor import Tensor
from ..tensor.append_rows import is_kept
from ..tensor.halves import LEAST, Array, fits_half, round_accurately
from .partition_host import HostPartition

FEW = 4096
"""Most elements of a value that stays float32: halving 16 KiB saves no time, and they may be sums of squares, means or
variances of rows, which later steps divide by."""

WHOLE = 1 << 11
"""Up to this float16 holds every whole number."""


def choose_halves(model: Lowered, partition: HostPartition) -> frozenset[Tensor]:
    """The tensors on the device, aliases included, that are stored there as float16.

    Not those that the page or the host reads or writes, which are float32, but for states whose rows stay as they are:
    each is rounded once, when it is stored. What each run computes anew, such as a sum, would be rounded in each run.
    Not `exact` ones; not those that share memory with one of these.
    """
    states = zip(model.tensors.states, model.tensors.state_tensors, strict=True)
    kept = {t for s, pair in states if not s.overwritten for t in pair}
    outside = _outside(model, partition, kept)
    together: dict[Tensor, list[Tensor]] = {}
    for t in (*(g.output for g in model.groups), *model.aliases):
        owner = owner_of(t, model.aliases)
        together.setdefault(owner, [owner]).append(t)
    halves = {
        t
        for owner, tensors in together.items()
        if not any(x in outside or x.exact or x.dtype != F32 for x in tensors) and prod(owner.extents) > FEW
        for t in tensors
    }
    prepared = {t for t in model.prepared if not t.exact and t.dtype == F32}
    return frozenset(halves | {t for t in prepared if t.data is None or _fits(t.data)})


def choose_whole(model: Lowered, partition: HostPartition) -> frozenset[Tensor]:
    """The tensors on the device, between kernels, of whole numbers that float16 holds: operands of quantised products.
    Not those that share memory with others."""
    states = {t for pair in model.tensors.state_tensors for t in pair}
    shared = {x for t in model.aliases for x in (t, owner_of(t, model.aliases))}
    apart = _outside(model, partition, frozenset()) | states | shared
    computed = (t for t in (*(g.output for g in model.groups), *model.prepared) if t not in apart and t.dtype == F32)
    return frozenset(t for t in computed if t.bounds is not None and max(map(abs, t.bounds.span)) <= WHOLE)


def _outside(model: Lowered, partition: HostPartition, kept: Set[Tensor]) -> set[Tensor]:
    """Tensors that the page reads or writes, but for states `kept`, and those that the host does, or that are copied to
    states."""
    ports = {t for _, t in (*model.tensors.inputs, *model.tensors.outputs)} - kept
    return ports | {*_copied(model)} | {t for s in partition.segments for t in (*s.reads, *s.writes)}


def _copied(model: Lowered) -> Iterator[Tensor]:
    """Sources of the copies at the end of a run to states that it computes anew, in the kernels of each size."""
    written = {
        before
        for s, (before, _) in zip(model.tensors.states, model.tensors.state_tensors, strict=True)
        if s.overwritten
    }
    for g in model.groups:
        if owner_of(g.output, model.aliases) in written:
            yield from (t for t in g.reads if is_kept(g, t))


def _fits(data: Array) -> bool:
    """Whether a constant that is computed at load may be rounded, as those in the file are."""
    return data.size >= LEAST and (fits_half(data) or round_accurately(data) is not None)
