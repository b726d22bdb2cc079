"""States: inputs and outputs that share memory, which outlives a run."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ..ir.layout import Layout
from ..ir.nodes import Origin
from ..program.live_ranges import owner_of
from ..tensor import Tensor
from ..tensor.append_rows import append_rows, is_kept
from ..tensor.build_kernel import Destination, build_kernel
from ..tensor.fuse import Group, copy_of
from .lower_structures import copied_back, may_replace
from .lowered import Lowered, kernel_name

Pairs = Sequence[tuple[Tensor, Tensor]]
"""The input of each state, and what became of the output."""


@dataclass(frozen=True, slots=True)
class Kept:
    """`groups`, those of states that grow reduced to what they add, which is stored at its destination; without those
    that would copy a state onto itself. The outputs `in_place` are the inputs' memory then."""

    groups: tuple[Group, ...]
    destinations: dict[Tensor, Destination]
    in_place: dict[Tensor, Tensor]


def keep_rows(groups: tuple[Group, ...], pairs: Pairs, alike: Sequence[bool]) -> Kept:
    """`alike` says of which states input and output have the same layout."""
    before = {after: b for (b, after), same in zip(pairs, alike, strict=True) if same}
    kept: list[Group] = []
    destinations: dict[Tensor, Destination] = {}
    in_place: dict[Tensor, Tensor] = {}
    for g in groups:
        state = before.get(g.output)
        appended = None if state is None else append_rows(g, state)
        if state is not None and is_kept(g, state):
            in_place[g.output] = state
        elif state is not None and appended is not None:
            kept.append(appended.group)
            destinations[g.output] = appended.destination
            in_place[g.output] = state
        else:
            kept.append(g)
    return Kept(tuple(kept), destinations, in_place)


def add_states(lowered: Lowered, pairs: Pairs, kept: Kept, *, in_place: bool) -> Lowered:
    """`lowered` with what runs leave where the next one finds it: computed there, or copied at the end. With `in_place`
    a kernel may write over an operand."""
    lowered = replace(lowered, aliases={**lowered.aliases, **kept.in_place})
    for before, after in pairs:
        if after in kept.in_place:
            continue
        if lowered.layouts[before] == lowered.layouts[after] and may_replace(lowered, before, after, in_place=in_place):
            lowered = replace(lowered, aliases={**lowered.aliases, after: before})
        else:
            lowered = copied_back(lowered, before, after)
    return _with_own_outputs(lowered, {before for before, _ in pairs})


def _with_own_outputs(lowered: Lowered, states: Set[Tensor]) -> Lowered:
    """`lowered` with copies of outputs that are what a run leaves, or views of it: they are no part of the states."""
    after, outputs = {s.after for s in lowered.tensors.states}, []
    for name, t in lowered.tensors.outputs:
        if name in after or owner_of(t, lowered.aliases) not in states:
            outputs.append((name, t))
            continue
        group = copy_of(name, t, Origin((name,), ("Identity",)))
        outputs.append((name, group.output))
        layouts = {**lowered.layouts, group.output: Layout.row_major(t.extents)}
        lowered = replace(
            lowered,
            groups=(*lowered.groups, group),
            kernels=(*lowered.kernels, build_kernel(kernel_name(group), group, layouts)),
            layouts=layouts,
            steps=(*lowered.steps, len(lowered.groups)),
        )
    return replace(lowered, tensors=replace(lowered.tensors, outputs=tuple(outputs)))
