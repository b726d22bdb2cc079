"""The targets that run in this process beside each other: one model, runs in turns."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import webnn_compile
from webnn_compile.errors import InputError

from .cases import Case
from .tables import Grid

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[Mapping[str, Array]], Sequence[Array]]

DEFAULT = ("native", "c:gcc", "c:clang", "opencl", "webgl", "cuda", "tinygrad")
"""Targets; "c" with the compiler to use. tinygrad runs on the OpenCL device that is ours, too."""


@dataclass(frozen=True, slots=True)
class Timed:
    """`times` are milliseconds of runs, `error` is relative to the largest element of onnxruntime's result; `missing`
    says why there is none."""

    name: str
    times: tuple[float, ...] = ()
    error: float = 0.0
    missing: str = ""


def measure_targets(case: Case, names: Sequence[str], threads: int, rounds: int) -> list[Timed]:
    """Every target once in each round, in this process. Winograd's algorithm is used where ours is the target."""
    inputs, expected = case.inputs(), list(case.outputs().values())
    runs: dict[str, Run] = {}
    missing: dict[str, str] = {}
    errors: dict[str, float] = {}
    for name in names:
        try:
            run = _tinygrad(case) if name == "tinygrad" else _ours(case, name, threads)
            results = [run(inputs) for _ in range(3)][-1]
        except (InputError, ImportError, AttributeError, RuntimeError) as error:
            missing[name] = str(error).splitlines()[0].partition("; ")[0]
            continue
        runs[name] = run
        errors[name] = max(
            float(np.abs(a - b).max() / max(1.0, np.abs(b).max())) for a, b in zip(results, expected, strict=True)
        )
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            run(inputs)
            times[name].append((time.perf_counter() - start) * 1e3)
    return [
        Timed(name, tuple(times[name]), errors[name]) if name in runs else Timed(name, missing=missing[name])
        for name in names
    ]


def target_grid(case: str, threads: int, found: Sequence[Timed]) -> Grid:
    """Ratios are to the first target's runs of the same round."""
    base = found[0].times
    rows = []
    for t in found:
        if t.missing:
            rows.append((t.name, "", "", "", t.missing))
            continue
        ratio = statistics.median(own / other for own, other in zip(t.times, base, strict=True))
        times = f"{statistics.median(t.times):.1f}", f"{min(t.times):.1f}"
        rows.append((t.name, *times, f"{ratio:.2f}", f"{t.error:.0e}"))
    title = f"{case}, {threads} thread{'s' if threads > 1 else ''}, {len(base)} rounds"
    return Grid(title, ("target", "median ms", "min ms", f"ratio to {found[0].name}", "error"), tuple(rows), 1)


def _ours(case: Case, name: str, threads: int) -> Run:
    target, _, compiler = name.partition(":")
    several = {"threads": threads} if target in ("native", "c") else {}
    with _environment("CC", compiler):
        model = webnn_compile.compile(case.model, target, case.shapes, **several)  # type: ignore[arg-type]
    return lambda inputs: list(model.run(inputs).values())


def _tinygrad(case: Case) -> Run:
    """tinygrad reads the environment when it is imported."""
    os.environ.setdefault("DEV", "CL")
    from tinygrad import Tensor, TinyJit
    from tinygrad.nn.onnx import OnnxRunner

    model = OnnxRunner(str(case.model))
    run = TinyJit(lambda **tensors: model(tensors))
    return lambda inputs: [t.numpy() for t in run(**{k: Tensor(a).realize() for k, a in inputs.items()}).values()]


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    if value:
        os.environ[name] = value
    try:
        yield
    finally:
        if value and before is None:
            del os.environ[name]
        elif before is not None:
            os.environ[name] = before
