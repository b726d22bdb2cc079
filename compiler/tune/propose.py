"""The next candidates of a search: neighbours of the default and random ones, then by mutation and crossover of the
best, as a cost model prefers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from ..choices import Choices
from ..errors import ScheduleError
from .cost_model import predict
from .walk import Path, Pick, Walk, first

Probe = Callable[[Choices], str]
"""Schedules a kernel; the result's hash. Raises ScheduleError."""

RANDOM = 16
"""Candidates at random before evolution starts."""
PARENTS = 8
POOL = 48
"""Candidates from which the cost model takes a batch."""
EXPLORING = 6
"""One in so many candidates of a batch is any of the pool: the cost model is fitted only to what is measured."""
HOPELESS = 2.0
"""Candidates that are predicted to take so many times the best one's time are not built, but for one."""
SMALL = 64
"""A space of at most so many candidates is enumerated."""
ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class History:
    """The state of a search: ratios to the default by candidate, None for one that failed or is being measured. `pick`
    decides what a walk starts with, `fixed` names decisions that are not searched; the space is known to be `large`."""

    tried: tuple[tuple[Path, float | None], ...] = ()
    hashes: frozenset[str] = frozenset()
    pick: Pick = first
    fixed: frozenset[str] = frozenset()
    large: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """Legal candidates with their hashes; `exhausted` where there are none that are worth a trial. `illegal` candidates
    are not tried again."""

    candidates: tuple[tuple[Path, str], ...]
    illegal: tuple[tuple[Path, str], ...]
    exhausted: bool
    large: bool


def name_of(path: Path) -> str:
    """The candidate as text."""
    return json.dumps(path, sort_keys=True)


def enumerate_space(probe: Probe, history: History, most: int) -> list[tuple[Path, str]] | None:
    """All legal candidates that differ from all tried ones and from each other in their code, with their hashes; None
    for a space of more than `most` leaves."""
    return _Search(probe, history, Random(0)).enumerate(most)


def propose(probe: Probe, history: History, count: int, random: Random) -> Proposal:
    """At most `count` candidates that differ from all tried ones in their code."""
    search = _Search(probe, history, random)
    small = None if history.large else search.enumerate(SMALL)
    if small is not None:
        return Proposal(tuple(small[:count]), tuple(search.illegal), len(small) <= count, False)
    measured = [(path, ratio) for path, ratio in history.tried if ratio is not None]
    if history.pick is first:
        measured.insert(0, (search.default, 1.0))
    pool: list[tuple[Path, str]] = []
    size = count if len(measured) < RANDOM else POOL
    for walk in search.walks(measured):
        candidate = search.probe(walk)
        if candidate is not None:
            pool.append(candidate)
        if len(pool) >= size:
            break
    predicted = predict(measured, [path for path, _ in pool])
    best = min((ratio for _, ratio in measured), default=1.0)
    order = sorted(range(len(pool)), key=lambda i: predicted[i])
    # The best one is tried even so: what is predicted of it may be wrong.
    promising = [pool[i] for i in order if predicted[i] <= HOPELESS * best or i == order[0]]
    explored = min(count // EXPLORING, max(0, len(promising) - count))
    chosen = promising[: count - explored] + random.sample(promising[count - explored :], explored)
    return Proposal(tuple(chosen), tuple(search.illegal), not pool, True)


class _Search:
    def __init__(self, probe: Probe, history: History, random: Random) -> None:
        self._probe, self._history, self._random = probe, history, random
        self._names = {name_of(path) for path, _ in history.tried}
        self._hashes = set(history.hashes)
        self.illegal: list[tuple[Path, str]] = []

    def probe(self, walk: Walk) -> tuple[Path, str] | None:
        """The candidate of a walk, if it is legal and new."""
        try:
            code = self._probe(walk)
        except ScheduleError as error:
            if self._is_new(walk.path):
                self.illegal.append((walk.path, str(error)))
            return None
        if not self._is_new(walk.path) or code in self._hashes:
            return None
        self._hashes.add(code)
        return walk.path, code

    def _is_new(self, path: Path) -> bool:
        name = name_of(path)
        new = name not in self._names
        self._names.add(name)
        return new

    def enumerate(self, most: int) -> list[tuple[Path, str]] | None:
        """All new candidates, in order, of a space of at most so many leaves; None for a larger one."""
        candidates: list[tuple[Path, str]] = []
        path: dict[str, Any] | None = {}
        for _ in range(most):
            walk = Walk(path or {}, self._history.pick, self._history.fixed)
            candidate = self.probe(walk)
            if candidate is not None:
                candidates.append(candidate)
            path = _next_path(walk, self._history.pick)
            if path is None:
                return candidates
        return None

    @property
    def default(self) -> Path:
        walk = Walk({}, first, self._history.fixed)
        self._probe(walk)
        return walk.path

    def walks(self, measured: Sequence[tuple[Path, float]]) -> Iterator[Walk]:
        """Random ones and children of the default, until enough are measured; then children of the best."""
        fixed = self._history.fixed
        ranked = sorted(measured, key=lambda m: m[1])
        parents = [path for path, _ in ranked[:PARENTS]]
        for _ in range(ATTEMPTS):
            chance = self._random.random()
            if chance < (0.5 if len(measured) < RANDOM else 0.1) or not parents:
                yield Walk({}, self._any, fixed)
            elif chance < 0.35 and len(parents) > 1:
                yield Walk(self._cross(*self._random.sample(parents, 2)), self._any, fixed)
            else:
                yield Walk(self._mutate(self._random.choice(parents)), self._any, fixed)

    def _any(self, _: str, options: Sequence[Any]) -> Any:
        return self._random.choice(options)

    def _mutate(self, parent: Path) -> Path:
        """Without one, two or three of its decisions, which are then made anew."""
        names = list(parent)
        dropped = set(self._random.sample(names, min(len(names), self._random.choice((1, 1, 1, 2, 2, 3)))))
        return {name: option for name, option in parent.items() if name not in dropped}

    def _cross(self, one: Path, other: Path) -> Path:
        return {
            name: (one if name not in other or (name in one and self._random.random() < 0.5) else other)[name]
            for name in (*one, *(n for n in other if n not in one))
        }


def _next_path(walk: Walk, pick: Pick) -> dict[str, Any] | None:
    """The decisions that lead to the next leaf of the tree; None after the last. Options are in their order, or in
    reverse where `pick` takes the last first."""
    names = list(walk.decisions)
    for at in reversed(range(len(names))):
        decision = walk.decisions[names[at]]
        backwards = pick(names[at], decision.options) == decision.options[-1]
        order = list(reversed(decision.options)) if backwards else list(decision.options)
        position = order.index(decision.chosen)
        if position + 1 < len(order):
            before: Mapping[str, Any] = {n: walk.decisions[n].chosen for n in names[:at]}
            return {**before, names[at]: order[position + 1]}
    return None
