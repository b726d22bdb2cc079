"""How good the tuner's search is: without the heuristics, and beside an exhaustive search."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import median

from webnn_compile.cli.remote_device import browser_device
from webnn_compile.driver.options import Options
from webnn_compile.pipeline.lowered import Lowered
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune.device import Device
from webnn_compile.tune.executors import open_executor
from webnn_compile.tune.local_device import local_device
from webnn_compile.tune.measure import Measured
from webnn_compile.tune.probe import probe
from webnn_compile.tune.problem import KernelTask, Problem
from webnn_compile.tune.propose import History, enumerate_space, name_of
from webnn_compile.tune.search_job import SearchJob, build_pieces
from webnn_compile.tune.session import SearchSession, inputs_of
from webnn_compile.tune.status import Settings
from webnn_compile.tune.tune_kernels import FINALISTS, KernelSearch
from webnn_compile.tune.walk import Path, Pick, first, last
from webnn_compile.tune.whole_model import time_groups

from .cases import Case
from .spaces import estimate
from .tables import Grid

BATCH = 8
"""Schedules that an exhaustive search measures beside each other."""
REPEATS = 5
"""So often the best of an exhaustive search and of the tuner's are measured again, beside each other."""


PROBES, SLACK = 20, 4
"""Random schedules by which the size of a space is estimated, and how many times too large that may be."""


@dataclass(frozen=True, slots=True)
class Found:
    """`share` of the model's time by default; `best` and `median` of all candidates in units of the default's time."""

    kernel: str
    share: float
    trials: int
    failed: int
    best: float
    median: float


@dataclass(frozen=True, slots=True)
class Exhausted:
    """A kernel with so many different `schedules`: the best ones of all of them and of so many `trials`, in units of
    the default's time."""

    kernel: str
    schedules: int
    trials: int
    of_all: float
    of_trials: float


@dataclass(frozen=True, slots=True)
class _Place:
    """A model on a device; `times` are milliseconds by group."""

    problem: Problem
    device: Device
    executor: Executor
    lowered: Lowered
    times: dict[int, float]

    @property
    def tasks(self) -> list[KernelTask]:
        """The costliest first."""
        return sorted(self.problem.kernel_tasks(self.lowered), key=lambda t: -sum(self.of(t).values()))

    def of(self, task: KernelTask) -> dict[int, float]:
        return {g: self.times.get(g, 0.0) for g in task.groups}

    def session(self, trials: int, pick: Pick, records: list[TuningRecord]) -> SearchSession:
        settings = Settings(trials=trials, layers=False, pick=pick)
        return SearchSession(self.problem, self.device, self.executor, settings, records.append, (), lambda _: None)

    def search(self, task: KernelTask, trials: int, pick: Pick) -> list[TuningRecord]:
        """The trials of a search for one kernel."""
        records: list[TuningRecord] = []
        KernelSearch(self.session(trials, pick, records), self.lowered, self.of(task), 1.0).run()
        return [r for r in records if r.failure != "illegal"]


def search_from_worst(case: Case, target: str, browser: str, kernels: int, trials: int) -> list[Found]:
    """Searches the costliest `kernels`, by as many `trials` each, started from the last option of every decision."""
    searched = []
    with _open(case, target, browser) as place:
        for task in place.tasks[:kernels]:
            tried = place.search(task, trials, last)
            ratios = sorted(r.ratio for r in tried if r.ratio is not None)
            share = sum(place.of(task).values()) / sum(place.times.values())
            failed = sum(r.failure is not None for r in tried)
            searched.append(Found(task.name, share, len(tried), failed, ratios[0], ratios[len(ratios) // 2]))
    return searched


def search_exhaustively(
    case: Case, target: str, browser: str, kernels: int, trials: int, leaves: int
) -> list[Exhausted]:
    """Searches the costliest `kernels` whose spaces have at most so many `leaves`, and more schedules than `trials`."""
    searched = []
    with _open(case, target, browser) as place:
        for task in place.tasks:
            fixed = frozenset(("cores",))
            schedule = partial(probe, target, place.problem.options, task.naive, task.placements)
            size, _, _ = estimate(schedule, PROBES, Random(1))
            space = enumerate_space(schedule, History(fixed=fixed), leaves) if size <= SLACK * leaves else None
            if space is None or len(space) <= trials:
                continue
            searched.append(_exhaust(place, task, [path for path, _ in space], trials))
            if len(searched) == kernels:
                break
    return searched


def _exhaust(place: _Place, task: KernelTask, space: Sequence[Path], trials: int) -> Exhausted:
    tried = place.search(task, trials, first)
    paths = {name_of(path): path for path in space} | {r.candidate: r.choices for r in tried}
    ratio_of = {r.candidate: r.ratio for r in tried if r.ratio is not None}
    ratios: dict[str, float] = {}
    for start in range(0, len(space), BATCH):
        ratios |= _measure(place, task, space[start : start + BATCH])
    own, best = _finalists(ratio_of), _finalists(ratios)
    both = [paths[name] for name in {**dict.fromkeys(own), **dict.fromkeys(best)}]
    rounds = [_measure(place, task, both) for _ in range(REPEATS)]
    again = {name: median(r[name] for r in rounds) for name in rounds[0]}
    # The default is in both: a search keeps it where nothing is better.
    of_all, of_trials = (min(1.0, *(again.get(name, 1.0) for name in names)) for names in (again, own))
    return Exhausted(task.name, len(space), len(tried), of_all, of_trials)


def _finalists(ratios: Mapping[str, float]) -> list[str]:
    """As many as a search compares in the whole model."""
    return sorted(ratios, key=lambda name: ratios[name])[:FINALISTS]


def _measure(place: _Place, task: KernelTask, paths: Sequence[Path]) -> dict[str, float]:
    """Ratios to the default of those that give right results, by their names."""
    session = place.session(1, first, [])
    job = SearchJob(
        target=place.problem.target,
        options=place.problem.options,
        key=task.key,
        naive=task.naive,
        placements=task.placements,
        piece=task.piece,
        fill_halo=place.problem.fills_halos,
        history=History(),
        count=len(paths),
        seed=0,
    )
    built = place.executor.submit(build_pieces, job, [{}, *paths]).result()
    if built.artifact is None:
        return {}
    inputs = inputs_of(task.piece.model, task.key)
    reference = session.reference(task.key, task.piece, inputs)
    measured = session.measure(built.artifact, inputs, reference, session.tolerance())
    outcomes = ((path, measured[i]) for i, path in enumerate(paths, 1) if i not in built.failures)
    return {name_of(path): outcome.ratio for path, outcome in outcomes if isinstance(outcome, Measured)}


@contextlib.contextmanager
def _open(case: Case, target: str, browser: str) -> Iterator[_Place]:
    problem = Problem(case.model, target, Options(case.given))
    with _device(problem, browser) as device, open_executor() as executor:
        problem.use_variants(device.variants[:1])
        lowered, _ = problem.lower()
        place = _Place(problem, device, executor, lowered, {})
        place.times.update(time_groups(place.session(1, first, []), (lowered, {})))
        yield place


@contextlib.contextmanager
def _device(problem: Problem, browser: str) -> Iterator[Device]:
    if problem.is_local:
        yield local_device(problem)
        return
    with browser_device(browser, problem.target, {}) as device:
        yield device


def worst_grid(model: str, where: str, searched: Sequence[Found]) -> Grid:
    head = ("kernel", "share", "trials", "failed", "median candidate", "best, default 1")
    rows = [
        (f.kernel, f"{f.share:.0%}", str(f.trials), str(f.failed), f"{f.median:.3f}", f"{f.best:.3f}") for f in searched
    ]
    return Grid(f"Search from the worst options: {model}, {where}", head, tuple(rows), 1)


def exhaustive_grid(model: str, where: str, searched: Sequence[Exhausted]) -> Grid:
    head = ("kernel", "schedules", "trials", "best of all, default 1", "best of trials", "ratio")
    rows = [
        (
            f.kernel,
            str(f.schedules),
            str(f.trials),
            f"{f.of_all:.3f}",
            f"{f.of_trials:.3f}",
            f"{f.of_trials / f.of_all:.3f}",
        )
        for f in searched
    ]
    return Grid(f"Search and exhaustive search: {model}, {where}", head, tuple(rows), 1)
