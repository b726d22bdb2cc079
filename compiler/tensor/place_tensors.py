"""The offset of each stored tensor in the arena: live ranges, sharing by aliases and in place, then the memory plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Generic, TypeVar

from ..ir.layout import Layout
from ..ir.nodes import Load
from ..ir.rewrite import loads
from ..program.live_ranges import Access, LiveRange, live_ranges, owner_of
from ..program.plan_memory import Request, plan_memory
from ..system.limits import check_elements
from .fuse import Group
from .steps import BranchStep, LoopStep, Steps, StepsOf
from .tensor import Tensor

Leaf = TypeVar("Leaf")

Ports = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]
"""Inputs and outputs of a model."""


@dataclass(frozen=True, slots=True)
class Stored:
    """`offset` in bytes into an arena of `peak` bytes; `owner` is the tensor whose memory it shares, or itself. Owners
    have a `size` in bytes and a `live` range in steps of the `timeline`, where memory is planned for a whole run. Those
    in `states` have theirs in memory of `state_bytes`, which runs share."""

    owner: Mapping[Tensor, Tensor]
    offset: Mapping[Tensor, int]
    peak: int
    size: Mapping[Tensor, int] = field(default_factory=dict)
    live: Mapping[Tensor, LiveRange] = field(default_factory=dict)
    states: frozenset[Tensor] = frozenset()
    state_bytes: int = 0


NOTHING_STORED = Stored({}, {}, 0)
"""The plan of a region: memory is planned for a whole model."""


def place_tensors(
    ports: Ports,
    groups: Sequence[Group],
    steps: Steps,
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
    sources: Mapping[Tensor, tuple[Tensor, ...]],
    states: Sequence[Tensor] = (),
) -> Stored:
    """Live ranges in steps, aliases and in-place results merged, then the memory plan. `sources` are the tensors from
    which a launch takes scalars, by the output of its group. `states` are inputs that outlive the run."""
    inputs, outputs = ports[0], (*ports[1], *states)
    line = timeline(steps, lambda i: access_of(groups[i], sources.get(groups[i].output, ())))
    in_place = _find_in_place(groups, layouts, aliases, inputs, line, line.ranges(aliases, inputs, outputs))
    shared = {**aliases, **in_place}
    ranges = line.ranges(shared, inputs, outputs)
    scratch = dict.fromkeys(t for i in sorted(line.at) for t in groups[i].scratch)
    stored = (*inputs, *(t for t in line.written if t not in scratch), *scratch)
    owner = {t: owner_of(t, shared) for t in (*stored, *shared)}
    size: dict[Tensor, int] = {}
    for t, root in owner.items():  # an alias may have its channels rounded up where its owner has not
        size[root] = max(size.get(root, 0), _bytes(t, layouts))
    # The page writes all inputs before the first step; an unused one keeps its memory during that step.
    live = {t: LiveRange(max(ranges[t].first, 0), max(ranges[t].last, 0)) for t in size}
    runs, kept = (_planned(size, live, owners) for owners in ([t for t in size if t not in states], states))
    offset = {**runs[0], **kept[0]}
    return Stored(
        owner=owner,
        offset={t: offset[root] for t, root in owner.items()},
        peak=runs[1],
        size=size,
        live={t: ranges[t] for t in size},
        states=frozenset(states),
        state_bytes=kept[1],
    )


def _planned(
    size: Mapping[Tensor, int], live: Mapping[Tensor, LiveRange], owners: Sequence[Tensor]
) -> tuple[dict[Tensor, int], int]:
    """The offset of each owner in memory for all of them, and its bytes."""
    plan = plan_memory([Request(size[t], live[t].first, live[t].last) for t in owners])
    return dict(zip(owners, plan.offsets, strict=True)), plan.peak


@dataclass(frozen=True, slots=True)
class Timeline(Generic[Leaf]):
    """The sequence of accesses to memory. `at` are the accesses of leaves, `loops` the first and
    last ones of loops, inner loops first."""

    accesses: tuple[Access[Tensor], ...]
    at: Mapping[Leaf, int]
    loops: tuple[tuple[int, int], ...]

    @property
    def written(self) -> tuple[Tensor, ...]:
        """All that is written, in order."""
        return tuple(dict.fromkeys(t for a in self.accesses for t in a.writes))

    def ranges(
        self, aliases: Mapping[Tensor, Tensor], inputs: Sequence[Tensor], outputs: Sequence[Tensor]
    ) -> dict[Tensor, LiveRange]:
        return live_ranges(self.accesses, aliases, inputs, outputs, self.loops)


def timeline(steps: StepsOf[Leaf], access: Callable[[Leaf], Access[Tensor]]) -> Timeline[Leaf]:
    """The accesses of `steps` as they stand one after the other: those of a loop's body, and of both sides of a branch,
    once. A loop begins with an access that reads what is carried in and writes what the body finds, and ends with one
    that reads what is passed on."""
    accesses: list[Access[Tensor]] = []
    at: dict[Leaf, int] = {}
    loops: list[tuple[int, int]] = []

    def add(steps: StepsOf[Leaf]) -> None:
        for step in steps:
            if isinstance(step, LoopStep):
                begin, carried = len(accesses), step.loop.carried
                reads = (*(c.start for c in carried), *step.counts)
                accesses.append(Access(reads, (*(c.inside for c in carried), *step.stacks)))
                add(step.body)
                loops.append((begin, len(accesses)))
                accesses.append(Access(tuple(c.next for c in carried), ()))
            elif isinstance(step, BranchStep):
                tested = (step.condition,) if isinstance(step.condition, Tensor) else ()
                accesses.append(Access(tested, step.results))
                add(step.then)
                add(step.otherwise)
            else:
                at[step] = len(accesses)
                accesses.append(access(step))

    add(steps)
    return Timeline(tuple(accesses), at, tuple(loops))


def access_of(g: Group, measured: Sequence[Tensor] = ()) -> Access[Tensor]:
    """The access of a group's launch; it takes scalars from the tensors `measured`."""
    return Access((*(t for t in g.reads if not t.is_constant), *measured), (g.output, *g.scratch))


def _find_in_place(
    groups: Sequence[Group],
    layouts: Mapping[Tensor, Layout],
    aliases: Mapping[Tensor, Tensor],
    inputs: Sequence[Tensor],
    line: Timeline[int],
    ranges: Mapping[Tensor, LiveRange],
) -> dict[Tensor, Tensor]:
    """The results computed in place of an operand at its last use, with the owner of that memory. `ranges` are those of
    the tensors where only `aliases` share memory."""
    in_place: dict[Tensor, Tensor] = {}
    last = {t: r.last for t, r in ranges.items()}

    def owner(t: Tensor) -> Tensor:
        return owner_of(owner_of(t, aliases), in_place)

    for i, g in enumerate(groups):
        source = None if g.output in aliases else overwritable(g, layouts)
        if source is None:
            continue
        root = owner(source)
        alone = not any(owner(t) is root for t in g.reads if t is not source)
        if alone and root not in inputs and last[root] == line.at[i]:
            in_place[g.output] = root
            last[root] = last[g.output]
    return in_place


def overwritable(g: Group, layouts: Mapping[Tensor, Layout]) -> Tensor | None:
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
