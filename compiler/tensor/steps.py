"""The order in which groups run, with the loops and branches around them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..ir.nodes import Expr
from .fuse import Group
from .structure import Branch, Loop
from .tensor import Tensor


@dataclass(frozen=True, eq=False, slots=True)
class LoopStep:
    """`body` is repeated. `stacks` are the tensors that hold all rows, in the order of the loop's rows."""

    loop: Loop
    body: Steps
    stacks: tuple[Tensor, ...]


@dataclass(frozen=True, eq=False, slots=True)
class BranchStep:
    """One of two sequences of steps; both leave their results in the memory of `results`."""

    branch: Branch
    then: Steps
    otherwise: Steps
    results: tuple[Tensor, ...]


Steps = tuple[int | LoopStep | BranchStep, ...]
"""Groups by their number, and what is around some of them."""


def groups_of(steps: Steps) -> Iterator[int]:
    """The numbers of all groups, in order."""
    for step in steps:
        if isinstance(step, int):
            yield step
        elif isinstance(step, LoopStep):
            yield from groups_of(step.body)
        else:
            yield from groups_of(step.then)
            yield from groups_of(step.otherwise)


def trip_counts(steps: Steps) -> Iterator[Expr]:
    """Those of loops that are known at run time only."""
    for step in steps:
        if isinstance(step, LoopStep):
            if isinstance(step.loop.trips, Expr):
                yield step.loop.trips
            yield from trip_counts(step.body)
        elif isinstance(step, BranchStep):
            yield from trip_counts(step.then)
            yield from trip_counts(step.otherwise)


def renumber(steps: Steps, first: int) -> Steps:
    """The steps with the numbers of groups counted from `first`."""
    made: list[int | LoopStep | BranchStep] = []
    for step in steps:
        if isinstance(step, int):
            made.append(first + step)
        elif isinstance(step, LoopStep):
            made.append(LoopStep(step.loop, renumber(step.body, first), step.stacks))
        else:
            then, otherwise = renumber(step.then, first), renumber(step.otherwise, first)
            made.append(BranchStep(step.branch, then, otherwise, step.results))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Dependent:
    """What a structure reads and makes, as tensors that own their memory."""

    reads: frozenset[Tensor]
    makes: frozenset[Tensor]


def order_steps(
    groups: Sequence[Group], structures: Sequence[Dependent], owner: Callable[[Tensor], Tensor]
) -> list[int]:
    """An order of execution: groups by their number, then structures. Groups keep their order where they can."""
    count = len(groups)
    makers: dict[Tensor, int] = {owner(g.output): i for i, g in enumerate(groups)}
    for i, s in enumerate(structures):
        makers.update(dict.fromkeys(s.makes, count + i))
    needs = [{makers[owner(t)] for t in g.reads if owner(t) in makers} for g in groups]
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
