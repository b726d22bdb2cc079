"""Where each stored tensor lies in the arena: live ranges, sharing by aliases and in place, then the memory plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ..ir.layout import Layout
from ..ir.nodes import Load
from ..ir.rewrite import loads
from ..program.plan_memory import Request, plan_memory
from ..system.limits import check_elements
from .fuse import Group
from .program import TensorProgram
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Stored:
    """`offset` in bytes into an arena of `peak` bytes; `owner` is whose memory a tensor shares, or itself."""

    owner: Mapping[Tensor, Tensor]
    offset: Mapping[Tensor, int]
    peak: int


def place_tensors(
    tensors: TensorProgram,
    groups: tuple[Group, ...],
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
) -> Stored:
    """Live ranges in steps, aliases and in-place results merged, then the memory plan."""
    owner: dict[Tensor, Tensor] = {}

    def find(t: Tensor) -> Tensor:
        while t in owner:
            t = owner[t]
        return t

    owner.update(aliases)
    made = {g.output: i for i, g in enumerate(groups)}
    outputs = {t for _, t in tensors.outputs}
    inputs = {t for _, t in tensors.inputs}
    end = len(groups)
    last: dict[Tensor, int] = {}
    for i, g in enumerate(groups):
        for t in g.reads:
            if not t.is_constant:
                last[find(t)] = i
    for t in outputs:
        last[find(t)] = end
    for i, g in enumerate(groups):
        source = _overwritable(g, layouts)
        if source is not None:
            root = find(source)
            alone = not any(find(t) is root for t in g.reads if t is not source)
            if alone and root not in inputs and last[root] == i and root is not find(g.output):
                owner[g.output] = root
                last[root] = max(last[root], last.pop(g.output, i))
    made.update((t, i) for i, g in enumerate(groups) for t in g.scratch)
    roots = list(dict.fromkeys(find(t) for t in (*(t for _, t in tensors.inputs), *made)))
    everything = {*roots, *owner}
    size: dict[Tensor, int] = {}
    for t in everything:  # an alias may have its channels rounded up where its owner has not
        size[find(t)] = max(size.get(find(t), 0), _bytes(t, layouts))
    requests = []
    for t in roots:
        first = 0 if t in inputs else made[t]
        requests.append(Request(size[t], first, max(last.get(t, first), first)))
    plan = plan_memory(requests)
    where = dict(zip(roots, plan.offsets, strict=True))
    return Stored({t: find(t) for t in everything}, {t: where[find(t)] for t in everything}, plan.peak)


def _overwritable(g: Group, layouts: Mapping[Tensor, Layout]) -> Tensor | None:
    """What the group reads only at the very element that it writes, in the same layout: the result may replace it."""
    here = layouts[g.output]
    for t in g.reads if not g.scratch else ():
        if t.is_constant or t.dtype != g.output.dtype or layouts[t] != here:
            continue
        inside = () if g.reduce is None else tuple(x for x in loads(g.reduce.value) if x.buffer is t.buffer)
        sites = [x for x in loads(g.body) if x.buffer is t.buffer]
        if not inside and sites and all(_same_element(x, g) for x in sites):
            return t
    return None


def _same_element(x: Load, g: Group) -> bool:
    return x.guard is None and x.indices == g.axes


def _bytes(t: Tensor, layouts: Mapping[Tensor, Layout]) -> int:
    shape = layouts[t].physical_shape
    check_elements(shape, f"tensor {t.name!r}, as it lies in memory,")
    return prod(shape) * t.dtype.bytes
