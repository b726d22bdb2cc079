"""What the records say of each kernel and layer on each device."""

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
    """By model, target and device: after each trial the time of all kernels tried so far by the best candidates, in
    units of that by default. Layers are left out: their kernels would count twice."""
    found: dict[str, list[tuple[int, float]]] = {}
    best: dict[str, dict[str, tuple[float, float]]] = {}
    for r in records:
        if r.kind != "trial" or not r.key.startswith("kernel"):
            continue
        label = f"{r.model}, {r.target}, {r.device}"
        points, kernels = found.setdefault(label, []), best.setdefault(label, {})
        if r.ratio is not None and r.base is not None:
            base, ratio = kernels.get(r.key, (r.base * r.launches, 1.0))
            kernels[r.key] = base, min(ratio, r.ratio)
        total = sum(base for base, _ in kernels.values())
        points.append((len(points) + 1, sum(b * x for b, x in kernels.values()) / total if total else 1.0))
    return found
