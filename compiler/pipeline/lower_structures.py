"""Loops and branches of a region: the groups of their own regions join its groups, and memory what they pass on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ..ir.nodes import Origin
from ..ir.sizes import number
from ..program.live_ranges import owner_of
from ..tensor import Tensor
from ..tensor.build_kernel import Destination, build_kernel
from ..tensor.fuse import copy_of
from ..tensor.place_tensors import access_of, overwritable, timeline
from ..tensor.program import Inner, TensorProgram
from ..tensor.steps import BranchStep, Dependent, LoopStep, Steps, order_steps, renumber
from ..tensor.structure import Branch, Loop
from .lowered import Lowered, kernel_name

LowerRegion = Callable[[TensorProgram, Mapping[Tensor, Destination], Set[Tensor]], Lowered]
"""Lowers a region, of which some results are stored at their destinations, and some have memory of their own."""


@dataclass(frozen=True, slots=True)
class _LoweredStructure:
    """A structure's regions, lowered one after the other, the step that they are around, and which tensors share whose
    memory."""

    regions: tuple[Lowered, ...]
    step: Callable[[Sequence[Steps]], LoopStep[int] | BranchStep[int]]
    aliases: Mapping[Tensor, Tensor]


def add_structures(
    outer: Lowered,
    structures: Sequence[Inner],
    now: Mapping[Tensor, Tensor],
    lower_region: LowerRegion,
    *,
    in_place: bool,
) -> Lowered:
    """`outer` with the loops and branches in it. `now` are the tensors that became of those that others read; with
    `in_place` a kernel may write over an operand."""
    groups, kernels, rewritten = list(outer.groups), list(outer.kernels), list(outer.rewritten)
    layouts, prepared = dict(outer.layouts), dict(outer.prepared)
    aliases = {**outer.aliases, **{old: new for old, new in now.items() if old is not new}}
    steps: list[LoopStep[int] | BranchStep[int]] = []
    for inner in structures:
        lowered = _lower(inner, lower_region, in_place=in_place)
        bodies = []
        for region in lowered.regions:
            bodies.append(renumber(region.steps, len(groups)))
            groups += region.groups
            kernels += region.kernels
            rewritten += region.rewritten
            layouts = {**region.layouts, **layouts}
            prepared.update(region.prepared)
            aliases.update(region.aliases)
        steps.append(lowered.step(bodies))
        aliases.update(lowered.aliases)
    # A tensor that a rewrite put another one in place of has its layout.
    layouts.update({t: layouts[owner_of(t, aliases)] for t in aliases if t not in layouts})

    def owner(t: Tensor) -> Tensor:
        """The owner of a tensor that is read from memory outside of the region."""
        return owner_of(now.get(t, t), outer.aliases)

    dependent = [_dependent(inner, owner) for inner in structures]
    measured = {t: tuple(map(owner, sources)) for t, sources in outer.sources.items()}
    order = order_steps(outer.groups, measured, dependent, lambda t: owner_of(t, outer.aliases))
    own = len(outer.groups)
    return replace(
        outer,
        groups=tuple(groups),
        kernels=tuple(kernels),
        layouts=layouts,
        aliases=aliases,
        prepared=prepared,
        rewritten=tuple(rewritten),
        steps=tuple(i if i < own else steps[i - own] for i in order),
    )


def _dependent(inner: Inner, owner: Callable[[Tensor], Tensor]) -> Dependent:
    return Dependent(frozenset(map(owner, inner.reads)), frozenset(inner.results.values()))


def _lower(inner: Inner, lower_region: LowerRegion, *, in_place: bool) -> _LoweredStructure:
    if isinstance(inner.structure, Loop):
        return _loop(inner, inner.structure, lower_region, in_place=in_place)
    return _branch(inner, inner.structure, lower_region)


def _loop(inner: Inner, loop: Loop, lower_region: LowerRegion, *, in_place: bool) -> _LoweredStructure:
    """Carried tensors have the memory of their starts. The next value is computed there where nothing reads the one
    before any more, else it is copied there at the end of an iteration."""
    count = len(loop.carried)
    stacks = {t: inner.results[count + i] for i, t in enumerate(loop.rows) if count + i in inner.results}
    destinations = {row: Destination(whole, loop.counter) for row, whole in stacks.items()}
    body = lower_region(inner.regions[0], destinations, {c.next for c in loop.carried})
    nexts = [t for _, t in body.tensors.outputs[:count]]
    aliases: dict[Tensor, Tensor] = {}
    for i, (c, following) in enumerate(zip(loop.carried, nexts, strict=True)):
        aliases[c.inside] = c.start
        if i in inner.results:
            aliases[inner.results[i]] = c.start
        if following is not c.next:
            aliases[c.next] = following
        if may_replace(body, c.inside, following, in_place=in_place):
            aliases[following] = c.inside
        else:
            body = copied_back(body, c.inside, following)
    counts = inner.regions[0].sizes.sources_of((number(loop.trips),))
    return _LoweredStructure((body,), lambda bodies: LoopStep(loop, bodies[0], tuple(stacks.values()), counts), aliases)


def may_replace(body: Lowered, before: Tensor, after: Tensor, *, in_place: bool) -> bool:
    """Whether `after` may be computed in the memory of `before`, an input of the region: nothing reads that later."""
    inputs = tuple(t for _, t in body.tensors.inputs)
    line = timeline(body.steps, lambda i: access_of(body.groups[i]))
    ranges = line.ranges(body.aliases, (*inputs, before), ())
    first, last = ranges[owner_of(after, body.aliases)].first, ranges[owner_of(before, body.aliases)].last
    if first > last:
        return True
    group = next(g for g in body.groups if g.output is after)
    alone = sum(owner_of(t, body.aliases) is before for t in group.reads) == 1
    return in_place and first == last and alone and overwritable(group, body.layouts) is before


def copied_back(body: Lowered, inside: Tensor, following: Tensor) -> Lowered:
    """The region with a copy of `following` to the memory of what is carried, `inside`, at its end."""
    group = copy_of(f"{inside.name}.back", following, Origin())
    copy = group.output
    layouts = {**body.layouts, copy: body.layouts[inside]}
    return replace(
        body,
        groups=(*body.groups, group),
        kernels=(*body.kernels, build_kernel(kernel_name(group), group, layouts)),
        layouts=layouts,
        aliases={**body.aliases, copy: inside},
        steps=(*body.steps, len(body.groups)),
    )


def _branch(inner: Inner, branch: Branch, lower_region: LowerRegion) -> _LoweredStructure:
    """Both sides leave their results in the same memory."""
    results = tuple(inner.results.values())
    regions = []
    for region, arm in zip(inner.regions, (branch.then, branch.otherwise), strict=True):
        destinations = {arm[i]: Destination(memory) for i, memory in inner.results.items()}
        regions.append(lower_region(region, destinations, frozenset()))
    return _LoweredStructure(
        tuple(regions), lambda bodies: BranchStep(branch.condition, bodies[0], bodies[1], results), {}
    )
