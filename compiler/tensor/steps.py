"""The order in which groups run, with the loops and branches around them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar

from ..ir.nodes import Expr
from .fuse import Group
from .structure import Loop
from .tensor import Tensor

Leaf = TypeVar("Leaf", covariant=True)
Made = TypeVar("Made")


@dataclass(frozen=True, eq=False, slots=True)
class LoopStep(Generic[Leaf]):
    """`body` is repeated. `stacks` are the tensors that hold all rows, in the order of the loop's rows, `counts` those
    that the number of iterations is computed from."""

    loop: Loop
    body: StepsOf[Leaf]
    stacks: tuple[Tensor, ...]
    counts: tuple[Tensor, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class BranchStep(Generic[Leaf]):
    """One of two sequences of steps; both leave their results in the memory of `results`. The condition is a tensor of
    one bool, or where scalars decide it an expression of them."""

    condition: Tensor | Expr
    then: StepsOf[Leaf]
    otherwise: StepsOf[Leaf]
    results: tuple[Tensor, ...]


StepsOf = tuple[Leaf | LoopStep[Leaf] | BranchStep[Leaf], ...]
Steps = StepsOf[int]
"""Groups by their number, and what is around some of them."""


def leaves(steps: StepsOf[Leaf]) -> Iterator[Leaf]:
    """Leaves inside of all loops and branches, in order."""
    for step in steps:
        if isinstance(step, LoopStep):
            yield from leaves(step.body)
        elif isinstance(step, BranchStep):
            yield from leaves(step.then)
            yield from leaves(step.otherwise)
        else:
            yield step


def trip_counts(steps: StepsOf[Leaf]) -> Iterator[Expr]:
    """Trip counts of loops that are known at run time only."""
    for step in steps:
        if isinstance(step, LoopStep):
            if isinstance(step.loop.trips, Expr):
                yield step.loop.trips
            yield from trip_counts(step.body)
        elif isinstance(step, BranchStep):
            yield from trip_counts(step.then)
            yield from trip_counts(step.otherwise)


def condition_of(step: LoopStep[Leaf]) -> Tensor | None:
    """The bool that is tested before each iteration."""
    return None if step.loop.condition is None else step.loop.carried[step.loop.condition].start


def conditions_of(steps: StepsOf[Leaf]) -> Iterator[Tensor]:
    """Conditions of all loops and branches that tensors decide."""
    for step in steps:
        if isinstance(step, LoopStep | BranchStep):
            condition = condition_of(step) if isinstance(step, LoopStep) else step.condition
            if isinstance(condition, Tensor):
                yield condition
            for inner in (step.body,) if isinstance(step, LoopStep) else (step.then, step.otherwise):
                yield from conditions_of(inner)


def is_straight(steps: StepsOf[Leaf]) -> bool:
    """Whether each leaf is carried out once or not at all, as scalars decide."""
    return all(
        not isinstance(s, LoopStep | BranchStep)
        or (isinstance(s, BranchStep) and isinstance(s.condition, Expr) and is_straight((*s.then, *s.otherwise)))
        for s in steps
    )


def map_runs(steps: StepsOf[Leaf], change: Callable[[tuple[Leaf, ...], bool], Iterable[Made]]) -> StepsOf[Made]:
    """The steps with each run of leaves, between loops and branches, changed as a whole, by `change` of the run and of
    whether it stands in one of them that tensors decide: either side of another one is like a model of its own."""

    def inside(steps: StepsOf[Leaf], nested: bool) -> StepsOf[Made]:
        changed: list[Made | LoopStep[Made] | BranchStep[Made]] = []
        for whole, part in groupby(steps, lambda s: not isinstance(s, LoopStep | BranchStep)):
            if whole:
                changed += change(tuple(part), nested)  # type: ignore[arg-type]
                continue
            for step in part:
                if isinstance(step, LoopStep):
                    changed.append(LoopStep(step.loop, inside(step.body, True), step.stacks, step.counts))
                elif isinstance(step, BranchStep):
                    within = nested or isinstance(step.condition, Tensor)
                    then, otherwise = inside(step.then, within), inside(step.otherwise, within)
                    changed.append(BranchStep(step.condition, then, otherwise, step.results))
        return tuple(changed)

    return inside(steps, False)


def renumber(steps: Steps, first: int) -> Steps:
    """The steps with the numbers of groups counted from `first`."""
    return map_runs(steps, lambda run, _: [first + i for i in run])


@dataclass(frozen=True, slots=True)
class Dependent:
    """Tensors that a structure reads and makes, as those that own their memory."""

    reads: frozenset[Tensor]
    makes: frozenset[Tensor]


def order_steps(
    groups: Sequence[Group],
    measured: Mapping[Tensor, tuple[Tensor, ...]],
    structures: Sequence[Dependent],
    owner: Callable[[Tensor], Tensor],
) -> list[int]:
    """An order of execution: groups by their number, then structures. Groups keep their order where they can.
    `measured` are the tensors from which the launch of a group takes scalars, by its output: like those that structures
    read and make, they own their memory."""
    count = len(groups)
    makers: dict[Tensor, int] = {owner(g.output): i for i, g in enumerate(groups)}
    for i, s in enumerate(structures):
        makers.update(dict.fromkeys(s.makes, count + i))
    needs = [{makers[owner(t)] for t in (*g.reads, *measured.get(g.output, ())) if owner(t) in makers} for g in groups]
    needs += [{makers[t] for t in s.reads if t in makers} for s in structures]
    after: dict[int, list[int]] = {}
    for i, before in enumerate(needs):
        for b in before:
            after.setdefault(b, []).append(i)
    waiting = [len(before) for before in needs]
    # A structure is due as soon as what it reads is there.
    ready = [(i if i < count else -1, i) for i, n in enumerate(waiting) if not n]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, i = heapq.heappop(ready)
        order.append(i)
        for follower in after.get(i, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                heapq.heappush(ready, (follower if follower < count else -1, follower))
    assert len(order) == len(needs)
    return order
