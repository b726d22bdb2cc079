"""What the tuner's search finds without the heuristics: from the options in their worst order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webnn_compile.build.options import Options
from webnn_compile.cli.remote_device import browser_device
from webnn_compile.records.tuning_record import TuningRecord
from webnn_compile.tune.device import Device
from webnn_compile.tune.executors import open_executor
from webnn_compile.tune.native_program import NativeDevice
from webnn_compile.tune.problem import Problem
from webnn_compile.tune.session import SearchSession
from webnn_compile.tune.status import Settings
from webnn_compile.tune.tune_kernels import KernelSearch
from webnn_compile.tune.walk import last
from webnn_compile.tune.whole_model import time_groups

from .tables import Grid


@dataclass(frozen=True, slots=True)
class Found:
    """`share` of the model's time by default; `best` and `median` of all candidates in units of the default's time."""

    kernel: str
    share: float
    trials: int
    failed: int
    best: float
    median: float


def measure_search(
    model: Path, shapes: dict[str, tuple[int, ...]], target: str, browser: str, kernels: int, trials: int
) -> list[Found]:
    """Of each of the costliest `kernels`, by as many `trials` each, started from the last option of every decision."""
    problem = Problem(model, target, Options(shapes=shapes))
    with _device(problem, browser) as device, open_executor() as executor:
        problem.use_variants(device.variants[:1])
        lowered, _ = problem.lower()

        def session(write: Callable[[TuningRecord], None]) -> SearchSession:
            settings = Settings(trials=trials, layers=False, pick=last)
            return SearchSession(problem, device, executor, settings, write, (), lambda _: None)

        times = time_groups(session(lambda _: None), (lowered, {}))
        tasks = sorted(problem.kernel_tasks(lowered), key=lambda t: -sum(times.get(g, 0.0) for g in t.groups))
        found = []
        for task in tasks[:kernels]:
            records: list[TuningRecord] = []
            own = {g: times[g] for g in task.groups}
            KernelSearch(session(records.append), lowered, own, 1.0).run()
            ratios = sorted(r.ratio for r in records if r.ratio is not None)
            tried = [r for r in records if r.failure != "illegal"]
            share = sum(own.values()) / sum(times.values())
            middle = ratios[len(ratios) // 2]
            failed = sum(r.failure is not None for r in tried)
            found.append(Found(task.name, share, len(tried), failed, ratios[0], middle))
    return found


@contextlib.contextmanager
def _device(problem: Problem, browser: str) -> Iterator[Device]:
    if problem.is_native:
        yield NativeDevice(1, problem.cache)
        return
    with browser_device(browser, problem.target, {}) as device:
        yield device


def search_grid(model: str, where: str, found: list[Found]) -> Grid:
    head = ("kernel", "share", "trials", "failed", "median candidate", "best, default 1")
    rows = [
        (f.kernel, f"{f.share:.0%}", str(f.trials), str(f.failed), f"{f.median:.2f}", f"{f.best:.3f}") for f in found
    ]
    return Grid(f"Search from the worst options: {model}, {where}", head, tuple(rows), 1)
