"""The offset of each stored tensor in the arena: live ranges, sharing by aliases and in place, then the memory plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from ..ir.layout import Layout
from ..ir.nodes import Load
from ..ir.rewrite import loads
from ..program.live_ranges import Access, LiveRange, live_ranges, owner_of
from ..program.plan_memory import Request, plan_memory
from ..system.limits import check_elements
from .fuse import Group
from .program import TensorProgram
from .tensor import Tensor


@dataclass(frozen=True, slots=True)
class Stored:
    """`offset` in bytes into an arena of `peak` bytes; `owner` is the tensor whose memory it shares, or itself."""

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
    inputs, outputs = (tuple(t for _, t in ports) for ports in (tensors.inputs, tensors.outputs))
    steps = [Access(tuple(t for t in g.reads if not t.is_constant), (g.output, *g.scratch)) for g in groups]
    in_place = _find_in_place(groups, layouts, aliases, inputs, live_ranges(steps, aliases, inputs, outputs))
    shared = {**aliases, **in_place}
    ranges = live_ranges(steps, shared, inputs, outputs)
    stored = (*inputs, *(g.output for g in groups), *(t for g in groups for t in g.scratch))
    owner = {t: owner_of(t, shared) for t in (*stored, *shared)}
    size: dict[Tensor, int] = {}
    for t, root in owner.items():  # an alias may have its channels rounded up where its owner has not
        size[root] = max(size.get(root, 0), _bytes(t, layouts))
    # The page writes all inputs before the first step; an unused one keeps its memory during that step.
    plan = plan_memory([Request(n, max(ranges[t].first, 0), max(ranges[t].last, 0)) for t, n in size.items()])
    offset = dict(zip(size, plan.offsets, strict=True))
    return Stored(owner, {t: offset[root] for t, root in owner.items()}, plan.peak)


def _find_in_place(
    groups: tuple[Group, ...],
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
    inputs: tuple[Tensor, ...],
    ranges: Mapping[Tensor, LiveRange],
) -> dict[Tensor, Tensor]:
    """The results computed in place of an operand at its last use, with the owner of that memory. `ranges` are those of
    the tensors where only `aliases` share memory."""
    found: dict[Tensor, Tensor] = {}
    last = {t: r.last for t, r in ranges.items()}

    def owner(t: Tensor) -> Tensor:
        return owner_of(owner_of(t, aliases), found)

    for i, g in enumerate(groups):
        source = _overwritable(g, layouts)
        if source is None:
            continue
        root = owner(source)
        alone = not any(owner(t) is root for t in g.reads if t is not source)
        if alone and root not in inputs and last[root] == i:
            found[g.output] = root
            last[root] = last[g.output]
    return found


def _overwritable(g: Group, layouts: Mapping[Tensor, Layout]) -> Tensor | None:
    """An operand read only at the element that the group writes, in the same layout: the result may replace it."""
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
    check_elements(shape, f"tensor {t.name!r}, with its layout's padding,")
    return prod(shape) * t.dtype.bytes
