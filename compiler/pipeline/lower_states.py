"""States: inputs and outputs that share memory, which outlives a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..tensor import Tensor
from ..tensor.append_rows import append_rows, is_kept
from ..tensor.build_kernel import Destination
from ..tensor.fuse import Group
from .lower_structures import copied_back, may_replace
from .lowered import Lowered

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
    return lowered
