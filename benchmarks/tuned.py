"""Whole models with records beside their defaults, in turns in one tab."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles
from typing import Any

from webnn_compile.cli.remote_device import browser_device
from webnn_compile.driver.build import build_manifest
from webnn_compile.driver.options import Options
from webnn_compile.driver.verify import largest_error
from webnn_compile.records.record_file import read_records
from webnn_compile.records.recorded_choices import is_of

from .cases import Case, write_case
from .tables import Grid

DEADLINE = 120.0
ORDER = (0, 1, 1, 0)
"""Order in which default (0) and tuned (1) run, numbered as they are loaded."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """`records` were chosen for this model on this device; `default` and `tuned` are milliseconds of a run by round.
    `error` is the larger one of both, relative to the largest element of onnxruntime's result."""

    model: str
    target: str
    device: str
    records: int
    default: tuple[float, ...]
    tuned: tuple[float, ...]
    error: float

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Quartiles of the rounds' ratios of tuned to default; the middle one is the median."""
        lower, middle, upper = quantiles(t / d for t, d in zip(self.tuned, self.default, strict=True))
        return lower, middle, upper


def measure_tuned(case: Case, target: str, browser: str, records: Path, rounds: int) -> Tuned:
    """Each round runs both models, the first one first in every second round. Both are loaded twice, in ORDER: of two
    equal models the one that was loaded later takes 1 to 3% longer."""
    with browser_device(browser, target, {}) as device, contextlib.ExitStack() as opened:
        options = Options(case.given, targets=(target,), variants=device.variants[:1])
        of_device = replace(options, records=(records,), for_device=device.name)
        own = [r for r in read_records([records]).records if r.target == target and is_of(r, device.name)]
        chosen = len({r.key for r in own if r.kind == "chosen" and r.model == case.model.name})
        tuned = of_device if any(r.kind == "chosen" for r in own) else options
        built = [build_manifest(case.model, each, lambda _: None) for each in (options, tuned)]
        models: list[tuple[int, Any]] = []
        for i in ORDER:
            models.append((i, device.load(built[i], deadline=DEADLINE)))
            opened.callback(models[-1][1].unload)
        write_case(case)
        inputs, expected = case.inputs(), case.outputs()
        times: list[list[float]] = [[], []]
        error = 0.0
        for _, model in models:
            results = model.run(inputs, deadline=DEADLINE)
            error = max(error, *(largest_error(results[name], value) for name, value in expected.items()))
        for number in range(rounds):
            both = [0.0, 0.0]
            for i, model in models if number % 2 == 0 else reversed(models):
                both[i] += model.time(inputs, deadline=DEADLINE) / 2
            for i in (0, 1):
                times[i].append(both[i])
        return Tuned(case.name, target, device.name, chosen, tuple(times[0]), tuple(times[1]), error)


def tuned_grid(table: Sequence[Tuned]) -> Grid:
    head = ("model", "target", "device", "records", "default ms", "tuned ms", "ratio (quartiles)", "error")
    rows = []
    for t in table:
        lower, middle, upper = t.ratios
        times = f"{sorted(t.default)[len(t.default) // 2]:.1f}", f"{sorted(t.tuned)[len(t.tuned) // 2]:.1f}"
        rows.append(
            (
                t.model,
                t.target,
                t.device,
                str(t.records),
                *times,
                f"{middle:.3f} ({lower:.3f}-{upper:.3f})",
                f"{t.error:.0e}",
            )
        )
    return Grid("Tuned models, default 1", head, tuple(rows), 3)
