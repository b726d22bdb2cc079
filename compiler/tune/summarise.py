"""Summaries of the records of each kernel and layer on each device."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..records.tuning_record import TuningRecord


@dataclass(frozen=True, slots=True)
class Line:
    """Times in milliseconds of one launch, `best` by the fastest candidate, or by default if none is faster; 0 where
    none has a time. `chosen`: builds use it."""

    key: str
    kernel: str
    target: str
    device: str
    base: float
    best: float
    trials: int
    failed: int
    chosen: bool
    share: float


def summarise(records: Iterable[TuningRecord]) -> list[Line]:
    """The costliest first: by the time of all launches of a run."""
    groups: dict[tuple[str, str, str], list[TuningRecord]] = {}
    for r in records:
        groups.setdefault((r.target, r.device, r.key), []).append(r)
    lines = [_line(of) for of in groups.values()]
    return sorted(lines, key=lambda line: (line.target, line.device, -line.share))


def _line(records: list[TuningRecord]) -> Line:
    trials = [r for r in records if r.kind == "trial"]
    timed = [r for r in records if r.ratio is not None]
    chosen = [r for r in timed if r.kind == "chosen"]
    fastest = min(chosen or timed, key=lambda r: r.ratio or 0.0, default=None)
    base = fastest.base or 0.0 if fastest else 0.0
    ratio = min(1.0, fastest.ratio or 1.0) if fastest else 1.0
    r = records[0]
    failed = sum(t.failure is not None for t in trials)
    return Line(
        r.key, r.kernel, r.target, r.device, base, base * ratio, len(trials), failed, bool(chosen), base * r.launches
    )


def progress_of(records: Iterable[TuningRecord]) -> dict[str, list[tuple[int, float]]]:
    """By model, target and device: after each trial of a kernel the time of all kernels that were tried by the best
    candidates so far, in units of that by default. Layers are left out: their kernels would count twice."""
    trials: dict[str, list[TuningRecord]] = {}
    for r in records:
        if r.kind == "trial" and r.key.startswith("kernel") and r.failure != "illegal":
            trials.setdefault(f"{r.model}, {r.target}, {r.device}", []).append(r)
    return {label: _progress(of) for label, of in trials.items()}


def _progress(trials: list[TuningRecord]) -> list[tuple[int, float]]:
    bases = {r.key: r.base * r.launches for r in trials if r.base is not None}
    total = sum(bases.values())
    best: dict[str, float] = {}
    points = []
    for n, r in enumerate(trials, 1):
        if r.ratio is not None:
            best[r.key] = min(best.get(r.key, 1.0), r.ratio)
        saved = sum(bases[key] * (1 - ratio) for key, ratio in best.items())
        points.append((n, 1 - saved / total if total else 1.0))
    return points
